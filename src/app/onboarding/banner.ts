/** The banner of a start: addresses, the admin credential, and commands to paste. */

import { FIRST_STEPS_TITLE, firstSteps } from './first-steps.ts'

export interface Facts {
  readonly gatewayUrl: string
  readonly baseUrl: string
  readonly riskUrl: string
  readonly dataDir: string
  readonly threads: number
  readonly startedInMs: number
  /** Null unless this start created it. Its secret is null if it is that of `ADMIN_CLIENT_SECRET`. */
  readonly admin: { readonly clientId: string; readonly clientSecret: string | null } | null
  /** The one-time link of the first owner; null unless this start created it. */
  readonly ownerUrl: string | null
  /** The credential of the sample's consumer; null without a sample. */
  readonly sample: SampleFacts | null
}

export interface SampleFacts {
  readonly api: string
  readonly clientId: string
  readonly clientSecret: string
  readonly path: string
}

/** Returns plain text without colour if `isTerminal` is false. */
export function greeting(facts: Facts, isTerminal: boolean): string {
  const bold = (text: string): string => (isTerminal ? `\u001b[1m${text}\u001b[22m` : text)
  const faint = (text: string): string => (isTerminal ? `\u001b[2m${text}\u001b[22m` : text)
  const { sample } = facts
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
    const { clientId, clientSecret } = facts.admin
    lines.push(
      `  ${bold('Admin credential')}${clientSecret === null ? '' : ', shown this once'}:`,
      `    client id      ${clientId}`,
      `    client secret  ${clientSecret ?? 'as set by ADMIN_CLIENT_SECRET'}`,
      '',
    )
  }
  if (facts.ownerUrl !== null) {
    lines.push(
      `  ${bold('Owner')}: this link sets the password of the user owner, once, within 72 hours:`,
      `    ${facts.ownerUrl}`,
      '',
    )
  }
  if (sample === null)
    lines.push(
      `  ${faint('tollgate start --help-first-steps (in a clone: npm start -- --help-first-steps) prints commands to begin with.')}`,
      '',
    )
  else lines.push(`  ${faint(`${FIRST_STEPS_TITLE}:`)}`, '', ...firstSteps({ ...facts, ...sample, client: sample }), '')
  return `${lines.join('\n')}\n`
}
