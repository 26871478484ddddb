/** Command line of the demo. */

import { parseArgs } from 'node:util'

export interface DemoSettings {
  readonly seconds: number
  /** A service that already runs; null: the demo starts one. */
  readonly service: {
    readonly gatewayUrl: string
    readonly baseUrl: string
    readonly clientId: string
    readonly clientSecret: string
  } | null
}

const DEMO_HELP = `tollgate demo [--seconds N] [--gateway-url URL --base-url URL]

Without addresses a service of its own is started, and thrown away at the end. With them the demo
runs against that service, as the client ADMIN_CLIENT_ID with ADMIN_CLIENT_SECRET.
`

const SECONDS_DEFAULT = 60
const SECONDS_MAX = 86_400

/** Returns the settings, or a text to print: the fault, or the help. */
export function readDemoSettings(
  args: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
): DemoSettings | string {
  const options = {
    seconds: { type: 'string' },
    'gateway-url': { type: 'string' },
    'base-url': { type: 'string' },
    help: { type: 'boolean' },
  } as const
  let values
  try {
    values = parseArgs({ args: [...args], options }).values
  } catch (error) {
    return `${(error as Error).message}\n\n${DEMO_HELP}`
  }
  if (values.help) return DEMO_HELP

  const seconds = Number(values.seconds ?? SECONDS_DEFAULT)
  if (!Number.isInteger(seconds) || seconds < 1 || seconds > SECONDS_MAX) return `--seconds takes 1 to ${SECONDS_MAX}\n`

  const { 'gateway-url': gatewayUrl, 'base-url': baseUrl } = values
  if (gatewayUrl === undefined && baseUrl === undefined) return { seconds, service: null }
  const { ADMIN_CLIENT_ID: clientId, ADMIN_CLIENT_SECRET: clientSecret } = environment
  if (!gatewayUrl || !baseUrl || !clientId || !clientSecret) {
    return `A running service needs --gateway-url, --base-url, ADMIN_CLIENT_ID and ADMIN_CLIENT_SECRET.\n\n${DEMO_HELP}`
  }
  return { seconds, service: { gatewayUrl, baseUrl, clientId, clientSecret } }
}
