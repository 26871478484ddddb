/** The call of the platform API that a line of the command line tool makes, from the declarations that the tool is made of. */

import { GROUPS } from '../../cli/resources/resource-groups.ts'
import {
  fieldsOf,
  parametersOf,
  toFlag,
  wordsOf,
  type Field,
  type ResourceCommand,
} from '../../cli/resources/resource-command.ts'
import type { MadeCall } from '../api/script.ts'

const COMMON = ['--limit', '--cursor', '-o', '--output']

/** Returns null for a line that makes no single call, such as `tollgate risks tail`, and for one with an option that is unknown. */
export function calledBy(line: string): MadeCall | null {
  const [tool, group, name, ...rest] = toWords(line)
  const command = GROUPS.find((each) => each.name === group)?.commands.find((each) => each.name === name)
  if (tool !== 'tollgate' || command === undefined) return null
  const [method = '', template = ''] = command.call.split(' ')
  const { values, options } = split(command, rest)
  const known = [...fieldsOf(command).map(({ name: field }) => field), ...wordsOf(command.filters)].map(toFlag)
  if (![...options.keys()].every((flag) => known.includes(flag) || COMMON.includes(flag))) return null
  const path = parametersOf(command).reduce(
    (filled, parameter, index) => filled.replace(`{${parameter}}`, encodeURIComponent(values[index] ?? parameter)),
    template,
  )
  const query = new URLSearchParams(
    wordsOf(command.filters).flatMap((filter) => (options.get(toFlag(filter)) ?? []).map((value) => [filter, value])),
  ).toString()
  const fields = fieldsOf(command).flatMap((field) => toMember(field, options.get(toFlag(field.name))))
  const body = fields.length === 0 ? null : JSON.stringify(Object.fromEntries(fields))
  return { method, url: query === '' ? path : `${path}?${query}`, body }
}

function toWords(line: string): readonly string[] {
  const words = line.match(/(?:[^\s'"]|'[^']*'|"[^"]*")+/g) ?? []
  return words.map((word) =>
    word.replaceAll(/'([^']*)'|"([^"]*)"/g, (_, one?: string, other?: string) => one ?? other ?? ''),
  )
}

interface Split {
  readonly values: readonly string[]
  /** By the flag. */
  readonly options: ReadonlyMap<string, readonly string[]>
}

function split(command: ResourceCommand, words: readonly string[]): Split {
  const flags = new Set(fieldsOf(command).flatMap(({ name, kind }) => (kind === 'flag' ? [toFlag(name)] : [])))
  const values: string[] = []
  const options = new Map<string, readonly string[]>()
  for (let at = 0; at < words.length; at++) {
    const word = words[at] ?? ''
    if (!word.startsWith('-')) values.push(word)
    else if (flags.has(word)) options.set(word, ['true'])
    else options.set(word, [...(options.get(word) ?? []), words[++at] ?? ''])
  }
  return { values, options }
}

function toMember(
  { name, kind }: Field,
  values: readonly string[] | undefined,
): readonly (readonly [string, unknown])[] {
  if (values === undefined) return []
  const [value = ''] = values
  switch (kind) {
    case 'number':
      return [[name, Number(value)]]
    case 'flag':
    case 'boolean':
      return [[name, value === 'true']]
    case 'list':
      return [[name, value.split(',')]]
    case 'map':
      return [[name, Object.fromEntries(values.map((each) => each.split('=')))]]
    case 'address':
      return [[name, { url: value }]]
    case 'json':
      return [[name, JSON.parse(value) as unknown]]
    case 'file':
      return [[name, `BASE64 OF ${value}`]]
    case 'text':
    case 'secret':
      return [[name, value]]
  }
}
