#!/usr/bin/env node
/**
 * `tollgate <command>`.
 *
 * `validate` is a client of the public API. `admin` and `recover` work on a data folder, in a process of their own that has the
 * modules of the service. Exit codes: 0 done, 1 not good enough, 2 refused.
 */

import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { validate } from './validate.ts'
import { readValidateSettings, VALIDATE_HELP } from './validate-settings.ts'

const EXIT_NOT_GOOD = 1
const EXIT_REFUSED = 2
const ADMIN = join(import.meta.dirname, '../admin-command.ts')
const RECOVER = join(import.meta.dirname, '../recover-command.ts')
const PACKAGE = join(import.meta.dirname, '../../package.json')
const HELP = `${VALIDATE_HELP}
tollgate admin reset [--data-dir DIR]

Replaces a lost admin secret while the service is stopped.

tollgate recover --accept-loss registry|checkpoint|store|spool [--data-dir DIR]

Accepts the loss of a part of the data folder without which a start was refused.

tollgate --version

\`npm start -- --help\` lists the settings of the service.
`

const [command, ...args] = process.argv.slice(2)
if (command === 'validate') await runValidate()
else if (command === 'admin') process.exitCode = runOnFolder(ADMIN)
else if (command === 'recover') process.exitCode = runOnFolder(RECOVER)
else if (command === '--version') process.stdout.write(`${readVersion()}\n`)
else if (command === undefined || command === '--help') process.stdout.write(HELP)
else {
  process.stderr.write(`tollgate: there is no command ${command.slice(0, 100)}\n\n${HELP}`)
  process.exitCode = EXIT_REFUSED
}

function runOnFolder(entry: string): number {
  const { status } = spawnSync(process.execPath, [entry, ...args], { stdio: 'inherit' })
  return status ?? EXIT_REFUSED
}

function readVersion(): string {
  return (JSON.parse(readFileSync(PACKAGE, 'utf8')) as { readonly version: string }).version
}

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
