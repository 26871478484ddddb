/** What a person reads when the service is up: where it is, how to get in, and four lines to paste. */

export interface Facts {
  readonly gatewayUrl: string
  readonly baseUrl: string
  readonly riskUrl: string
  readonly dataDir: string
  readonly threads: number
  readonly startedInMs: number
  /** Only on the start that made it. */
  readonly admin: { readonly clientId: string; readonly clientSecret: string } | null
  /** The credential of the sample's consumer; null without a sample. */
  readonly sample: SampleFacts | null
}

export interface SampleFacts {
  readonly api: string
  readonly clientId: string
  readonly clientSecret: string
  readonly path: string
}

/** Plain text without colour where `isTerminal` is false. */
export function greeting(facts: Facts, isTerminal: boolean): string {
  const bold = (text: string): string => (isTerminal ? `\u001b[1m${text}\u001b[22m` : text)
  const faint = (text: string): string => (isTerminal ? `\u001b[2m${text}\u001b[22m` : text)
  const lines = [
    '',
    `  ${bold('tollgate')} is up ${faint(`(${facts.threads} gateway thread${facts.threads === 1 ? '' : 's'}, ${Math.round(facts.startedInMs)} ms, data in ${facts.dataDir})`)}`,
    '',
    `  gateway      ${facts.gatewayUrl}`,
    `  platform     ${facts.baseUrl}    ${faint('/openapi.json  /metrics  /readyz')}`,
    `  risk stream  ${facts.riskUrl}/v1/events/subscribe`,
    '',
  ]
  if (facts.admin !== null) {
    lines.push(
      `  ${bold('Admin credential')}, shown this once:`,
      `    client id      ${facts.admin.clientId}`,
      `    client secret  ${facts.admin.clientSecret}`,
      '',
    )
  }
  if (facts.sample !== null) lines.push(...tour(facts, facts.sample, faint))
  return `${lines.join('\n')}\n`
}

function tour(facts: Facts, sample: SampleFacts, faint: (text: string) => string): string[] {
  const { gatewayUrl, baseUrl, riskUrl, admin } = facts
  const token = (api: string, id: string, secret: string): string =>
    `curl -s ${gatewayUrl}/${api}/oauth2/v2/token -d grant_type=client_credentials -d client_id=${id} -d client_secret=${secret} | sed 's/.*"access_token":"\\([^"]*\\)".*/\\1/'`
  const adminToken = admin === null ? '$ADMIN' : `$(${token('platform-v1', admin.clientId, admin.clientSecret)})`
  return [
    `  ${faint('Get a token, make a call, watch the risk stream (Ctrl-C ends it), read the summary:')}`,
    '',
    `TOKEN=$(${token(sample.api, sample.clientId, sample.clientSecret)})`,
    `curl -i ${gatewayUrl}/${sample.api}${sample.path} -H "Authorization: Bearer $TOKEN"`,
    `curl -N ${riskUrl}/v1/events/subscribe -H "Authorization: Bearer ${adminToken}"`,
    `curl -s ${baseUrl}/v1/summaries -H "Authorization: Bearer ${adminToken}"`,
    '',
  ]
}
