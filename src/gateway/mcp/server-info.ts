/** How an API describes itself to clients of its MCP endpoint. */

import type { CompiledRevision } from '../call/revision.ts'

/** Returns JSON. */
export function toServerInfo({ plan: { api, revision } }: Pick<CompiledRevision, 'plan'>): string {
  return JSON.stringify({ name: api, title: api, version: String(revision) })
}
