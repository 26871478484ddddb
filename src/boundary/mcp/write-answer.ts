/** Completes a result with the members that its revision of the protocol requires. */

import { writeResult, type MessageId } from './message.ts'
import type { ProtocolRevision } from './revision-of-message.ts'

const LIST_TTL_MS = 60_000

/**
 * `members` is JSON without braces, and not empty unless the revision is an earlier one. `server` is JSON that describes the server.
 */
export function writeAnswer(id: MessageId, members: string, server: string, revision: ProtocolRevision): string {
  if (revision === 'earlier') return writeResult(id, `{${members}}`)
  const meta = `"_meta":{"io.modelcontextprotocol/serverInfo":${server}}`
  return writeResult(id, `{${members},"resultType":"complete",${meta}}`)
}

/** Returns the members that say how long a client may keep a list: it depends on the credential. */
export function cacheMembers(revision: ProtocolRevision): string {
  return revision === 'earlier' ? '' : `,"ttlMs":${LIST_TTL_MS},"cacheScope":"private"`
}
