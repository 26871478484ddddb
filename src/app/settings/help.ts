/** The text of `--help`: flags, settings, exit codes, and further documents. */

import { SETTING_NAMES } from '../config.ts'
import { flagOf } from './flags.ts'
import { SETTINGS_HELP } from './setting-descriptions.ts'

const FLAG_WIDTH = 26

const OPTIONS = [
  ['--empty', 'start without the sample API'],
  ['--help', 'print this and exit'],
  [
    '--help-first-steps',
    'print again the commands that the first start shows, with placeholders for secrets, and exit',
  ],
  ['--version', 'print the version and exit'],
] as const

export function usage(version: string): string {
  const options = OPTIONS.map(([flag, meaning]) => `  ${flag.padEnd(FLAG_WIDTH)} ${meaning}`)
  const settings = SETTING_NAMES.map((name) => {
    const { meaning, fallback } = SETTINGS_HELP[name]
    return `  ${flagOf(name).padEnd(FLAG_WIDTH)} ${meaning} [${fallback}]`
  })
  return `${[
    `tollgate ${version}`,
    '',
    'Usage: tollgate start [options]   (in a clone also: npm start -- [options])',
    '       npx tollgate lint FILE | breaking OLD NEW | validate FILE | admin reset | backup DIR | restore DIR   (see npx tollgate --help)',
    '',
    'Options:',
    ...options,
    '',
    'Settings, as a flag or as the environment variable of the same name (GATEWAY_PORT for --gateway-port).',
    'A flag overrides a variable. Defaults in brackets:',
    ...settings,
    '',
    'Exit codes: 0 after a clean shutdown, 2 if the start was refused or a data file is damaged, 1 after an unexpected failure.',
    'docs/README.md lists all documents; the running service describes its API at /openapi.json.',
  ].join('\n')}\n`
}
