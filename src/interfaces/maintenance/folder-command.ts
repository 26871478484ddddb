/** Shared by the commands on a data folder: argument parsing, and exit code 2 for a refusal. */

import { parseArgs, type ParseArgsOptionsConfig } from 'node:util'
import { StartRefused } from '../../foundation/runtime/start-refused.ts'

export const EXIT_REFUSED = 2

/** Runs a command and prints its text; a refusal is a line on stderr and exit code 2. Other users of the machine cannot read its files. */
export async function runCommand(run: (args: string[]) => string | Promise<string>): Promise<void> {
  process.umask(0o077)
  try {
    process.stdout.write(await run(process.argv.slice(2)))
  } catch (cause) {
    if (!(cause instanceof StartRefused)) throw cause
    process.stderr.write(`tollgate: ${cause.message}\n`)
    process.exitCode = EXIT_REFUSED
  }
}

/** Reads the arguments of a command. Throws `StartRefused` with its help. */
export function parseCommand<const Options extends ParseArgsOptionsConfig>(
  args: string[],
  options: Options,
  help: string,
) {
  try {
    return parseArgs({ args, options, allowPositionals: true })
  } catch (cause) {
    throw new StartRefused(`${cause instanceof Error ? cause.message : String(cause)}\n\n${help}`)
  }
}
