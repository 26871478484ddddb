/** Adds the lines for curl to those for the command line tool. */

import { toCurl } from '../api/curl.ts'
import { calledBy } from './called-by.ts'

export function withCurl(commands: readonly string[]): readonly string[] {
  const tool = commands.filter((line) => line.startsWith('tollgate '))
  const calls = tool.flatMap((line) => calledBy(line) ?? [])
  return [...tool, ...calls.map(toCurl)]
}
