/** Answers the messages that call no operation: `initialize`, `server/discover`, `ping`, `tools/list` and the search tools. */

import { fieldsOf } from '../../foundation/json/fields.ts'
import type { CallerContext } from '../call/caller-context.ts'
import {
  INVALID_PARAMS,
  METHOD_NOT_FOUND,
  type Message,
  type MessageFault,
  type MessageId,
} from '../../boundary/mcp/message.ts'
import { listTools } from './list-tools.ts'
import { negotiate, SUPPORTED, type ProtocolRevision } from '../../boundary/mcp/revision-of-message.ts'
import { answerSearch, isSearching, SEARCH_TOOLS } from './search-tools.ts'
import { cacheMembers, writeAnswer } from '../../boundary/mcp/write-answer.ts'
import { toServerInfo } from './server-info.ts'

const CAPABILITIES = '"capabilities":{"tools":{}}'

export function answerMessage(
  context: CallerContext,
  { method, params }: Message,
  id: MessageId,
  revision: ProtocolRevision,
): string | MessageFault {
  const server = toServerInfo(context.revision)
  const answer = (members: string): string => writeAnswer(id, members, server, revision)
  const cache = cacheMembers(revision)
  switch (`${revision} ${method}`) {
    case 'earlier initialize': {
      const version = JSON.stringify(negotiate(params['protocolVersion']))
      return answer(`"protocolVersion":${version},${CAPABILITIES},"serverInfo":${server}`)
    }
    case 'earlier ping':
      return answer('')
    case 'stateless server/discover':
      return answer(`"supportedVersions":${JSON.stringify(SUPPORTED)},${CAPABILITIES}${cache}`)
    case 'earlier tools/list':
    case 'stateless tools/list': {
      if (isSearching(context)) return answer(`"tools":[${SEARCH_TOOLS}]${cache}`)
      const page = listTools(context, params['cursor'])
      return page === null ? badCursor(id) : answer(page + cache)
    }
    case 'earlier tools/call':
    case 'stateless tools/call':
      return answer(answerSearch(context, params['name'], fieldsOf(params['arguments'])))
    default:
      return {
        status: revision === 'stateless' ? 404 : 200,
        id,
        code: METHOD_NOT_FOUND,
        text: 'The service does not support this method.',
      }
  }
}

function badCursor(id: MessageId): MessageFault {
  return { status: 200, id, code: INVALID_PARAMS, text: 'The cursor is invalid; start again without one.' }
}
