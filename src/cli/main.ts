#!/usr/bin/env node
/**
 * `tollgate <command>`: clients of the public API.
 *
 * Exit codes: 0 where all is well, 1 where what was asked for is not, 2 where it could not be asked.
 */

import { validate } from './validate.ts'
import { readValidateSettings, VALIDATE_HELP } from './validate-settings.ts'

const EXIT_NOT_GOOD = 1
const EXIT_REFUSED = 2

const [command, ...args] = process.argv.slice(2)
if (command !== 'validate') {
  process.stderr.write(VALIDATE_HELP)
  process.exitCode = command === undefined || command === '--help' ? 0 : EXIT_REFUSED
} else await runValidate()

async function runValidate(): Promise<void> {
  const settings = readValidateSettings(args, process.env)
  if (typeof settings === 'string') {
    process.stderr.write(settings)
    process.exitCode = args.includes('--help') ? 0 : EXIT_REFUSED
    return
  }
  try {
    const { report, isGood } = await validate(settings, process.stdout.isTTY && process.env['NO_COLOR'] === undefined)
    process.stdout.write(report)
    process.exitCode = isGood ? 0 : EXIT_NOT_GOOD
  } catch (cause) {
    process.stderr.write(`tollgate: ${cause instanceof Error ? cause.message : String(cause)}\n`)
    process.exitCode = EXIT_REFUSED
  }
}
