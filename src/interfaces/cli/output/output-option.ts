/** The options that every command with a result has. */

import { Option, type Command } from 'commander'
import { OUTPUT_FORMATS, type OutputFormat } from './print-result.ts'

export interface OutputOptions {
  readonly output: OutputFormat
  readonly context?: string
}

export function addOutputOption(command: Command): Command {
  return command
    .addOption(new Option('-o, --output <format>', 'format of the result').choices(OUTPUT_FORMATS).default('table'))
    .option('--context <name>', 'the context to use instead of the current one')
}
