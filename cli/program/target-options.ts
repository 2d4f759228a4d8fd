import type { Command } from 'commander';

const TARGET_OPTIONS_HEADING = 'Where the runs are:';

/** A command on runs: it takes where they are, and whether a program reads the answer. */
export const withTargetOptions = (command: Command): Command =>
  command
    .option('--json', 'answers in JSON, for programs')
    .optionsGroup(TARGET_OPTIONS_HEADING)
    .option('--folder <folder>', 'a folder (default: WAITSTATE_FOLDER, or .waitstate)')
    .option('--stack <name>', 'a deployed stack; of several Waitstates in one, name#id')
    .option('--region <region>', 'its AWS region')
    .option('--profile <name>', 'the AWS profile to use')
    .option('--tenant <tenant>', 'whose runs (default: "default")');

/** Examples below the help of a command. */
export const withExamples = (command: Command, ...examples: readonly string[]): Command =>
  command.addHelpText('after', `\nExamples:\n${examples.map((example) => `  ${example}`).join('\n')}`);
