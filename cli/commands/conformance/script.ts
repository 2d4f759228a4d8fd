/** One operation of a script. The waits of a script have different names. */
export type Operation =
  | { readonly do: 'step'; readonly value: unknown; readonly model?: Readonly<Record<string, unknown>> }
  | { readonly do: 'emit'; readonly event: unknown }
  | { readonly do: 'approval'; readonly name: string; readonly approver: string }
  | { readonly do: 'signal'; readonly name: string; readonly seconds?: number }
  | { readonly do: 'sleep'; readonly name: string; readonly seconds: number }
  | { readonly do: 'call'; readonly name: string; readonly script: Script }
  | { readonly do: 'crash' }
  | { readonly do: 'yield' }
  | { readonly do: 'fail'; readonly message: string };

/** What a run of the agent under test does: its input is `{ script }`, and its result lists the outcomes. */
export type Script = readonly Operation[];
