#!/usr/bin/env node
/**
 * `tollgate <command>`.
 *
 * `lint` and `breaking` need nothing but their files. `validate` is a client of the public API. `admin`, `backup`, `restore`, `recover` and `spool` work on a data folder, in a
 * separate process with the modules of the service. Exit codes: 0 done, 1 not good enough, 2 refused.
 */

import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { GATE_HELP, type GateCommand } from './gate/gate-settings.ts'
import { validate } from './validate.ts'
import { readValidateSettings, VALIDATE_HELP } from './validate-settings.ts'

const EXIT_NOT_GOOD = 1
const EXIT_REFUSED = 2
/** Modules that work on a data folder. */
const FOLDER_COMMANDS: ReadonlyMap<string, string> = new Map([
  ['admin', '../maintenance/admin-command.ts'],
  ['backup', '../maintenance/backup-command.ts'],
  ['recover', '../maintenance/recover-command.ts'],
  ['restore', '../maintenance/restore-command.ts'],
  ['spool', '../maintenance/spool-command.ts'],
])
const PACKAGE = join(import.meta.dirname, '../../package.json')
const HELP = `${GATE_HELP}
${VALIDATE_HELP}
tollgate admin reset [--data-dir DIR]

Replaces a lost admin secret while the service is stopped.

tollgate backup DIR [--data-dir DATA_DIR]
tollgate restore DIR --data-dir NEW

Copies the data folder of a service that runs or is stopped, and brings the copy up elsewhere.

tollgate spool inspect DIR [--batches]

Prints what a spool holds and what is damaged. Changes nothing; the service may run.

tollgate recover --accept-loss registry|checkpoint|store|spool [--data-dir DIR]

Accepts the loss of a part of the data folder without which a start was refused.

tollgate --version

\`npm start -- --help\` lists the settings of the service.
`

const [command, ...args] = process.argv.slice(2)
const folderCommand = FOLDER_COMMANDS.get(command ?? '')
if (command === 'validate') await runValidate()
else if (command === 'lint' || command === 'breaking') process.exitCode = await runOffline(command)
else if (folderCommand !== undefined) process.exitCode = runOnFolder(folderCommand)
else if (command === '--version') process.stdout.write(`${readVersion()}\n`)
else if (command === undefined || command === '--help') process.stdout.write(HELP)
else {
  process.stderr.write(`tollgate: there is no command ${command.slice(0, 100)}\n\n${HELP}`)
  process.exitCode = EXIT_REFUSED
}

/** Loads the rules on demand: other commands do not need them. */
async function runOffline(gate: GateCommand): Promise<number> {
  const { runGate } = await import('./gate/run-gate.ts')
  return runGate(gate, args, {
    stdin: process.stdin,
    out: (text) => void process.stdout.write(text),
    err: (text) => void process.stderr.write(text),
    colour: isColoured(),
    nowMs: Date.now(),
  })
}

function isColoured(): boolean {
  return process.stdout.isTTY && process.env['NO_COLOR'] === undefined
}

function runOnFolder(module: string): number {
  const { status } = spawnSync(process.execPath, [join(import.meta.dirname, module), ...args], { stdio: 'inherit' })
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
    const { report, isGood } = await validate(settings, isColoured())
    process.stdout.write(report)
    process.exitCode = isGood ? 0 : EXIT_NOT_GOOD
  } catch (cause) {
    process.stderr.write(`tollgate: ${cause instanceof Error ? cause.message : String(cause)}\n`)
    process.exitCode = EXIT_REFUSED
  }
}
