/** `tools/list`: the tools that a caller may call, in pages of a bounded size. */

import type { CallerContext } from '../call/caller-context.ts'
import { callableTools, toolsOf } from './revision-tools.ts'

const TOOLS_MAX = 50
/** A page ends with the tool that exceeds this length. */
const TEXT_LENGTH_MAX = 131_072
const CURSOR = /^(\d{1,9})\.(\d{1,9})$/

/** Returns the members of a page as JSON; null if the cursor is not one of this revision. */
export function listTools(context: CallerContext, cursor: unknown): string | null {
  const { revision } = context.revision.plan
  const from = cursor === undefined ? 0 : readCursor(cursor, revision)
  const positions = callableTools(context)
  if (from === null || (from > 0 && from >= positions.length)) return null
  const tools = toolsOf(context.revision)
  const texts: string[] = []
  let length = 0
  let next = from
  while (next < positions.length && texts.length < TOOLS_MAX && length < TEXT_LENGTH_MAX) {
    const { text } = tools.at(positions[next]!)
    texts.push(text)
    length += text.length
    next++
  }
  const nextCursor = next < positions.length ? `,"nextCursor":"${revision}.${next}"` : ''
  return `"tools":[${texts.join(',')}]${nextCursor}`
}

function readCursor(cursor: unknown, revision: number): number | null {
  const [, of, index] = (typeof cursor === 'string' && CURSOR.exec(cursor)) || []
  return Number(of) === revision && index !== undefined ? Number(index) : null
}
