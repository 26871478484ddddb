/** Command line of `tollgate validate`. */

import { parseArgs } from 'node:util'
import type { ServiceAddress } from './service-process.ts'

export const FORMATS = ['text', 'json', 'sarif', 'junit'] as const
export type Format = (typeof FORMATS)[number]

export interface ValidateSettings {
  readonly file: string
  readonly previous: string | null
  /** The folder of all files that the documents may refer to; null: that of each document. */
  readonly root: string | null
  readonly minScore: number
  readonly format: Format
  /** Null: the service of the session (`TOLLGATE_*`, or the current context). */
  readonly service: ServiceAddress | null
}

const VALIDATE_HELP = `tollgate validate <openapi file> [--previous FILE] [--min-score 80] [--format ${FORMATS.join('|')}]
                  [--root DIR] [--gateway-url URL] [--base-url URL]

Lints a document with a running service. References to files below the folder of the document (or below DIR)
are followed. Exits with 1 if the score is below the minimum, or if the document
has breaking changes from --previous. The service is the one that you are signed in to, or that TOLLGATE_URL,
TOLLGATE_CLIENT_ID and TOLLGATE_CLIENT_SECRET name; the scope programmes:read is needed. The former names are
still read if CLIENT_ID is set: CLIENT_SECRET, GATEWAY_URL and BASE_URL (or the flags).
`

const MIN_SCORE = 80

/** Returns the settings, or a text to print: the fault, or the help. */
export function readValidateSettings(
  args: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
): ValidateSettings | string {
  const options = {
    previous: { type: 'string' },
    root: { type: 'string' },
    'min-score': { type: 'string' },
    format: { type: 'string' },
    'gateway-url': { type: 'string' },
    'base-url': { type: 'string' },
    help: { type: 'boolean' },
  } as const
  let parsed
  try {
    parsed = parseArgs({ args: [...args], options, allowPositionals: true })
  } catch (error) {
    return `${(error as Error).message}\n\n${VALIDATE_HELP}`
  }
  const { values, positionals } = parsed
  const [file, ...others] = positionals
  if (values.help) return VALIDATE_HELP
  if (file === undefined || others.length > 0) return `Name one file.\n\n${VALIDATE_HELP}`
  const minScore = Number(values['min-score'] ?? MIN_SCORE)
  if (!(minScore >= 0 && minScore <= 100)) return '--min-score takes 0 to 100\n'
  const format = FORMATS.find((known) => known === (values.format ?? 'text'))
  if (format === undefined) return `--format takes one of ${FORMATS.join(', ')}\n`
  const service = readService(values, environment)
  return { file, previous: values.previous ?? null, root: values.root ?? null, minScore, format, service }
}

/** Returns the service under its former names; null if it has none, or if `TOLLGATE_*` names credentials. */
function readService(
  flags: { readonly 'gateway-url'?: string | undefined; readonly 'base-url'?: string | undefined },
  environment: Readonly<Record<string, string | undefined>>,
): ServiceAddress | null {
  const gatewayUrl = flags['gateway-url'] ?? environment['GATEWAY_URL'] ?? 'http://127.0.0.1:8080'
  const baseUrl = flags['base-url'] ?? environment['BASE_URL'] ?? 'http://127.0.0.1:8081'
  const clientId = environment['CLIENT_ID'] ?? environment['ADMIN_CLIENT_ID']
  const clientSecret = environment['CLIENT_SECRET'] ?? environment['ADMIN_CLIENT_SECRET']
  const isNamed = environment['TOLLGATE_TOKEN'] || environment['TOLLGATE_CLIENT_ID']
  return isNamed || !clientId || !clientSecret ? null : { gatewayUrl, baseUrl, clientId, clientSecret }
}
