/**
 * The commands of a first start: tokens, a call, a risk, the bill. Each command ends without input, and runs as
 * pasted in sh, bash and zsh.
 *
 * A credential that is null becomes a placeholder, so that the commands can be shown again without a secret.
 */

export interface Client {
  readonly clientId: string
  /** Null: the shell has it in `ADMIN_CLIENT_SECRET`. */
  readonly clientSecret: string | null
}

export interface FirstStepsOptions {
  readonly gatewayUrl: string
  readonly baseUrl: string
  readonly riskUrl: string
  readonly admin: Client | null
  /** A client of a subscription to `api`. */
  readonly client: Client | null
  readonly api: string
  /** Path of an operation that takes no parameters. */
  readonly path: string
}

export interface SampleCall {
  readonly api: string
  readonly path: string
}

/** The call that the consumer of the sample may make. */
export const SAMPLE_CALL: SampleCall = { api: 'payments-v1', path: '/accounts' }

const ADMIN_PLACEHOLDER: Client = { clientId: 'YOUR_ADMIN_CLIENT_ID', clientSecret: 'YOUR_ADMIN_CLIENT_SECRET' }
const CLIENT_PLACEHOLDER: Client = { clientId: 'YOUR_CLIENT_ID', clientSecret: 'YOUR_CLIENT_SECRET' }
/** An event id before all others: the stream begins with the events of the last 24 hours. */
const BEFORE_ALL = `evt_${'0'.repeat(26)}`
const STREAM_SECONDS = 5

export function firstSteps(options: FirstStepsOptions): readonly string[] {
  const { gatewayUrl, baseUrl, riskUrl, api, path } = options
  const token = (of: string, { clientId, clientSecret }: Client): string =>
    `$(curl -s ${gatewayUrl}/${of}/oauth2/v2/token -d grant_type=client_credentials ${field('client_id', clientId)} ${secretField(clientSecret)} | sed 's/.*"access_token":"\\([^"]*\\)".*/\\1/')`
  const call = `${gatewayUrl}/${api}${path}`
  const bearer = (credential: string): string => `-H "Authorization: Bearer ${credential}"`
  return [
    `ADMIN=${token('platform-v1', options.admin ?? ADMIN_PLACEHOLDER)}`,
    `TOKEN=${token(api, options.client ?? CLIENT_PLACEHOLDER)}`,
    `curl -i ${call} ${bearer('$TOKEN')}`,
    `for i in 1 2 3; do curl -s -o /dev/null ${call} ${bearer('$TOKEN.x')}; done`,
    `curl -sN --max-time ${STREAM_SECONDS} ${riskUrl}/v1/events/subscribe ${bearer('$ADMIN')} -H "Last-Event-ID: ${BEFORE_ALL}"`,
    `curl -s ${baseUrl}/v1/summaries ${bearer('$ADMIN')}`,
  ]
}

/** Purpose of the commands, without a full stop. */
export const FIRST_STEPS_TITLE =
  'Two tokens, a call, three calls with a wrong token, the risk that they raise, the bill'

function secretField(secret: string | null): string {
  return secret === null ? '--data-urlencode "client_secret=$ADMIN_CLIENT_SECRET"' : field('client_secret', secret)
}

/** A form field for curl, quoted and encoded if a shell or a form could read it differently. */
function field(name: string, value: string): string {
  if (/^[\w.~-]+$/.test(value)) return `-d ${name}=${value}`
  return `--data-urlencode '${name}=${value.replaceAll("'", "'\\''")}'`
}
