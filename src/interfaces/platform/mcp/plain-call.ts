/**
 * Answers a call of an operation whose message is valid beyond doubt.
 *
 * The SDK answers every other message, and refuses those that are invalid. It would take several times the CPU of the call, because
 * it makes a server for each message, and checks and copies the result.
 */

import type { IncomingHttpHeaders } from 'node:http'
import { Problem } from '../../../foundation/domain/problem.ts'
import { fieldsOf } from '../../../foundation/json/fields.ts'
import { INTERNAL_ERROR, REFUSED, writeError, type Message, type MessageId } from '../../../boundary/mcp/message.ts'
import { readRevision, type ProtocolRevision } from '../../../boundary/mcp/revision-of-message.ts'
import { writeAnswer } from '../../../boundary/mcp/write-answer.ts'
import { callOperation, findCall, type NamedCall } from './answer-tools.ts'
import type { Exchange } from './exchange.ts'
import type { PlatformTools } from './platform-tools.ts'

export interface PlainCall {
  readonly id: MessageId
  readonly revision: ProtocolRevision
  readonly named: NamedCall
}

/** Types that a client of an earlier revision has to accept. */
const ACCEPTED = ['application/json', 'text/event-stream']

/** Returns null if the SDK has to answer. */
export function readPlainCall(tools: PlatformTools, message: Message, headers: IncomingHttpHeaders): PlainCall | null {
  const { id, method, params } = message
  if (id === null || method !== 'tools/call') return null
  const named = findCall(tools, params)
  if (named === null || (named.args !== undefined && fieldsOf(named.args) !== named.args)) return null
  const revision = readRevision(message, headers)
  if (typeof revision !== 'string') return null
  const { accept = '' } = headers
  if (revision === 'earlier' && !ACCEPTED.every((type) => accept.includes(type))) return null
  return { id, revision, named }
}

/** `server` is JSON that describes the server. */
export async function answerPlainCall(
  exchange: Exchange,
  { id, revision, named }: PlainCall,
  server: string,
  onFault: (cause: unknown) => void,
): Promise<string> {
  try {
    return writeAnswer(id, await callOperation(exchange, named), server, revision)
  } catch (cause) {
    if (cause instanceof Problem) {
      return writeError({ status: 200, id, code: REFUSED, text: cause.message, data: { code: cause.code } })
    }
    onFault(cause)
    return writeError({ status: 200, id, code: INTERNAL_ERROR, text: 'The service failed.' })
  }
}
