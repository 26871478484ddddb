/** Lines for a shell that set what the console only shows: they stage a revision with the document of an earlier one. */

import type { Backend } from './backend-draft.ts'
import { toDraft, toInput } from './backend-draft.ts'

export interface Deployed {
  readonly api: string
  readonly revision: number
  readonly backend: Backend
  readonly transform: object | null
}

const EXAMPLE = { request: { set: [{ name: 'X-Stage', value: 'live' }] } }

/** Replaces one of the same name. */
const ADD_HEADER =
  '.backend.secretHeaders |= (map(select((.name | ascii_downcase) != ($name | ascii_downcase))) + ' +
  '[{$name, value: ($value | rtrimstr("\\n"))}])'

/** `origin`: of the platform API. */
export function backendCommands({ api, revision, backend, transform }: Deployed, origin: string) {
  const send = `curl -sS '${origin}/v1/proxies' -H "authorization: Bearer $TOKEN" -H 'content-type: application/json' --data @-`
  const shared = { api, fromRevision: revision }
  const { tls = {}, secretHeaders = [], ...rest } = toInput(toDraft(backend), backend) ?? {}
  const { certificate, ca } = tls
  const kept = { ...rest, secretHeaders, ...(ca !== undefined && { tls: { ca } }) }
  const all = { ...kept, ...(certificate !== undefined && { tls }) }
  return {
    tls: `jq -n --rawfile certificate client.crt --rawfile key client.key ${quote(
      `${JSON.stringify({ ...shared, backend: kept })} * {backend: {tls: {$certificate, $key}}}`,
    )} |\n  ${send}`,
    secretHeaders: `jq -n --arg name X-Partner-Key --rawfile value value.txt ${quote(
      `${JSON.stringify({ ...shared, backend: all })} | ${ADD_HEADER}`,
    )} |\n  ${send}`,
    transform: `jq -n ${quote(JSON.stringify({ ...shared, transform: transform ?? EXAMPLE }))} |\n  ${send}`,
  }
}

function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}
