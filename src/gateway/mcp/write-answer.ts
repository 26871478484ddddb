/** Completes a result with the members that its revision of the protocol requires. */

import type { CompiledRevision } from '../call/revision.ts'
import { writeResult, type MessageId } from '../../mcp/message.ts'
import type { ProtocolRevision } from './revision-of-message.ts'

const LIST_TTL_MS = 60_000

/** `members` is JSON without braces, and not empty unless the revision is the stateless one. */
export function writeAnswer(
  id: MessageId,
  members: string,
  { plan }: Pick<CompiledRevision, 'plan'>,
  revision: ProtocolRevision,
): Buffer {
  if (revision === 'earlier') return writeResult(id, `{${members}}`)
  const server = JSON.stringify(toServerInfo(plan))
  const separator = members === '' ? '' : ','
  const meta = `"_meta":{"io.modelcontextprotocol/serverInfo":${server}}`
  return writeResult(id, `{${members}${separator}"resultType":"complete",${meta}}`)
}

/** Returns the members that say how long a client may keep a list: it depends on the credential. */
export function cacheMembers(revision: ProtocolRevision): string {
  return revision === 'earlier' ? '' : `,"ttlMs":${LIST_TTL_MS},"cacheScope":"private"`
}

export function toServerInfo({ api, revision }: CompiledRevision['plan']): object {
  return { name: api, title: api, version: String(revision) }
}
