import type { Command } from 'commander';
import type { AnswerOptions } from '../commands/decide/answer.ts';
import type { DecideOptions } from '../commands/decide/decide.ts';
import type { EvidenceOptions } from '../commands/evidence.ts';
import type { WithdrawOptions } from '../commands/withdraw.ts';
import type { CommonOptions, RunInSession } from '../session.ts';
import { addDelegationCommands } from './delegation-commands.ts';
import { appendValue } from './parse-arguments.ts';
import { withExamples, withTargetOptions } from './target-options.ts';

const FOR = 'the person who is away and delegated it to them (default: found if they are not an approver)';

/** Adds the commands that answer, decide, remind and withdraw approvals. */
export function addApprovalCommands(program: Command, runInSession: RunInSession): void {
  const add = (answer: 'approve' | 'reject', summary: string, ...examples: readonly string[]) => {
    const command = program
      .command(`${answer} [run] [approval]`)
      .description(
        `${summary}. Without an approval id, the run must have one pending request. Without a run, --agent and --name, or --from, select several requests of one kind: the command lists them, asks for confirmation, and records each decision separately.`,
      )
      .summary(summary)
      .helpGroup('Decide approvals:')
      .option('--as <person>', 'who decides, such as user:ann (default: WAITSTATE_PERSON)')
      .option('--for <person>', FOR)
      .option('--group <group>', 'a group of that person; may be repeated', appendValue)
      .option('-c, --comment <text>', 'a comment')
      .option('--edits <json>', 'changes to the request, if it is editable; @FILE reads a file')
      .option('--agent <agent>', 'several requests: those of this agent, with --name')
      .option('--name <name>', 'several requests: those with this name in the code of the agent')
      .option('--from <file>', 'several requests: lines of "waitstate approvals --json"; - reads standard input')
      .option('-y, --yes', 'several requests: do not ask for confirmation');
    withExamples(withTargetOptions(command), ...examples).action(
      (run: string | undefined, approval: string | undefined, options: DecideOptions) =>
        runInSession(options, async (session) => {
          if (run === undefined)
            return (await import('../commands/decide/decide-all.ts')).decideAll(session, answer, options);
          const { decide } = await import('../commands/decide/decide.ts');
          return decide(session, { run, approval, answer }, options);
        }),
    );
  };
  add(
    'approve',
    'approve requests',
    'waitstate approve trip-42 --as user:ann',
    `waitstate approve trip-42 book --as user:ann --edits '{"seat":"aisle"}'`,
    'waitstate approve --agent refunds --name refund --as user:ann',
    'waitstate approvals --agent refunds --json | grep o-17 | waitstate approve --from - --as user:ann --yes',
  );
  add(
    'reject',
    'reject requests',
    `waitstate reject trip-42 --as user:ann --comment 'Too expensive.'`,
    `waitstate reject --agent refunds --name refund --as user:ann --comment 'Closed.'`,
  );

  withExamples(
    withTargetOptions(
      program
        .command('answer <run> [question]')
        .description(
          'answer a question. "waitstate show RUN" shows what it expects. Without a question id, the run must have one pending request. To decline a question, use "waitstate reject".',
        )
        .summary('answer a question')
        .helpGroup('Decide approvals:')
        .option(
          '--value <text>',
          'the answer: a choice by its value or label (several separated by commas), text, or JSON',
        )
        .option('--field <name=value>', 'a field of the answer, such as seat=aisle; may be repeated', appendValue)
        .option('--file <file>', 'read the answer from a file; - reads standard input')
        .option('--as <person>', 'who answers, such as user:ann (default: WAITSTATE_PERSON)')
        .option('--for <person>', FOR)
        .option('--group <group>', 'a group of that person; may be repeated', appendValue)
        .option('-c, --comment <text>', 'a comment'),
    ),
    'waitstate answer trip-42 --value aisle --as user:ann',
    'waitstate answer trip-42 hotel --field name=Ritz --field nights=3 --as user:ann',
    'waitstate answer trip-42 --value aisle --as user:cho --for user:ann',
  ).action((run: string, question: string | undefined, options: AnswerOptions) =>
    runInSession(options, async (session) =>
      (await import('../commands/decide/answer.ts')).answer(session, run, question, options),
    ),
  );

  addDelegationCommands(program, runInSession);

  withExamples(
    withTargetOptions(
      program
        .command('remind <run> [approval]')
        .description(
          'notify the approvers of a request again. Without an approval id, the run must have one pending request.',
        )
        .summary('notify the approvers again')
        .helpGroup('Decide approvals:'),
    ),
    'waitstate remind trip-42',
  ).action((run: string, approval: string | undefined, options: CommonOptions) =>
    runInSession(options, async (session) => (await import('../commands/remind.ts')).remind(session, run, approval)),
  );

  withExamples(
    withTargetOptions(
      program
        .command('evidence [run] [approval]')
        .description(
          'write the evidence of an approval as one JSON file: what the approvers saw, who decided what, and the checkpoints before and after. Use --verify to check such a file offline. For an encrypted run, the command needs its key, and the file contains decrypted content.',
        )
        .summary('write or check the evidence of an approval')
        .helpGroup('Decide approvals:')
        .option('--out <file>', 'write to this new file instead of standard output')
        .option('--verify <file>', 'check a file; needs no storage. Exit code 7 if it was changed or is damaged'),
    ),
    'waitstate evidence trip-42 book --out evidence.json',
    'waitstate evidence --verify evidence.json',
  ).action((run: string | undefined, approval: string | undefined, options: EvidenceOptions) =>
    runInSession(options, async (session) =>
      (await import('../commands/evidence.ts')).evidence(session, { run, approval }, options),
    ),
  );

  withExamples(
    withTargetOptions(
      program
        .command('withdraw <run> [approval]')
        .description(
          'withdraw a request; the run continues as if it was rejected. Without an approval id, the run must have one pending request.',
        )
        .summary('withdraw a request')
        .helpGroup('Decide approvals:')
        .requiredOption('-r, --reason <text>', 'the reason (required)')
        .option('-y, --yes', 'do not ask for confirmation'),
    ),
    `waitstate withdraw trip-42 book --reason 'The flight is gone.'`,
  ).action((run: string, approval: string | undefined, options: WithdrawOptions) =>
    runInSession(options, async (session) =>
      (await import('../commands/withdraw.ts')).withdraw(session, run, approval, options),
    ),
  );
}
