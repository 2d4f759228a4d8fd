import type { Command } from 'commander';

const TARGET_OPTIONS_HEADING = 'Target:';

/** Adds the options of every command that works on runs: the target, and `--json`. */
export const withTargetOptions = (command: Command): Command =>
  command
    .option('--json', 'print JSON, for programs')
    .optionsGroup(TARGET_OPTIONS_HEADING)
    .option('--folder <folder>', 'a folder (default: WAITSTATE_FOLDER, or .waitstate)')
    .option('--stack <name>', 'a deployed stack; name#id for a second Waitstate in it')
    .option('--region <region>', 'the AWS region of the stack')
    .option('--profile <name>', 'the AWS profile to use')
    .option('--tenant <tenant>', 'the tenant (default: "default")');

/** Adds examples below the help of a command. */
export const withExamples = (command: Command, ...examples: readonly string[]): Command =>
  command.addHelpText('after', `\nExamples:\n${examples.map((example) => `  ${example}`).join('\n')}`);
