/** The name of the operation with an id: `search` for `trips[3]/search:paris#2`. */
export const operationName = (id: string): string =>
  (id.split('/').at(-1) ?? '')
    .replace(/[#:].*$/, '')
    .replace(/%([0-9A-F]{2})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
