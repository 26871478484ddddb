/** A call of the platform API as a line of the command line tool, from the declarations that the tool itself is made of. */

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

/** Returns null if the tool has no command for the call. */
export function toCommand({ method, url, body }: MadeCall): string | null {
  const { pathname, searchParams } = new URL(url, 'http://console')
  for (const { name: group, commands } of GROUPS) {
    for (const command of commands) {
      const values = match(command, method, pathname)
      if (values === null) continue
      const words = ['tollgate', group, command.name, ...values.map(quote)]
      return [...words, ...toFilters(command, searchParams), ...toFields(command, body)].join(' ')
    }
  }
  return null
}

/** Returns the values of the parameters, or null for the command of another call. */
function match({ call, ...rest }: ResourceCommand, method: string, pathname: string): readonly string[] | null {
  const [verb, template = ''] = call.split(' ')
  if (verb !== method) return null
  const parts = template.split('/')
  const found = pathname.split('/')
  if (parts.length !== found.length) return null
  if (!parts.every((part, index) => part.startsWith('{') || part === found[index])) return null
  const names = parametersOf({ call, ...rest })
  return names.map((name) => decodeURIComponent(found[parts.indexOf(`{${name}}`)] ?? ''))
}

function toFilters({ filters, columns }: ResourceCommand, query: URLSearchParams): readonly string[] {
  const names = [...wordsOf(filters), ...(columns === undefined ? [] : ['limit', 'cursor'])]
  return names.flatMap((name) => {
    const value = query.get(name)
    const flag = name === 'limit' || name === 'cursor' ? `--${name}` : toFlag(name)
    return value === null || value === '' ? [] : [`${flag} ${quote(value)}`]
  })
}

function toFields(command: ResourceCommand, body: string | null): readonly string[] {
  const values = body === null ? {} : (JSON.parse(body) as Record<string, unknown>)
  return fieldsOf(command).flatMap((field) => {
    const value = values[field.name]
    return value === undefined || value === null ? [] : toOption(field, value)
  })
}

function toOption({ name, kind }: Field, value: unknown): readonly string[] {
  const flag = toFlag(name)
  switch (kind) {
    case 'flag':
      return value === true ? [flag] : []
    case 'list':
      return [`${flag} ${quote((value as readonly string[]).join(','))}`]
    case 'map':
      return Object.entries(value as Record<string, string>).map(([key, each]) => `${flag} ${quote(`${key}=${each}`)}`)
    case 'address':
      return [`${flag} ${quote((value as { readonly url?: string }).url ?? '')}`]
    case 'json':
      return [`${flag} ${quote(JSON.stringify(value))}`]
    case 'file':
      return [`${flag} FILE`]
    // It is typed, or read from standard input.
    case 'secret':
      return []
    case 'text':
    case 'number':
    case 'boolean':
      return [`${flag} ${quote(String(value))}`]
  }
}

function quote(text: string): string {
  return /^[\w.:/@,=-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
}
