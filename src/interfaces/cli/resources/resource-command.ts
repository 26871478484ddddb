/**
 * Declaration of a command for one operation of the platform API.
 *
 * A declaration is data: the arguments follow from the path, and the options from `filters` and `fields`. A test compares all
 * declarations with the OpenAPI document of the platform.
 */

import type { Example } from '../help-text.ts'

export interface ResourceCommand {
  readonly name: string
  /** The `operationId`. */
  readonly operation: string
  /** Method and path, as in OpenAPI. */
  readonly call: `${'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'} /${string}`
  readonly summary: string
  /** Parameters of the query, separated by blanks. Lists have `limit` and `cursor` besides. */
  readonly filters?: string
  /** The filter that is given as an argument, and how the help names it. */
  readonly argument?: { readonly filter: string; readonly name: string }
  /** Fields of the body, as `name` or `name:kind`, separated by blanks. */
  readonly fields?: string
  /** The member of the answer that has the items of a list; default: `items`. */
  readonly items?: string
  /** Columns of the table of a list, separated by blanks. Default: all simple fields. */
  readonly columns?: string
  /** Shown in place of a table without rows. */
  readonly none?: string
  /** A number that is shown as a bar per row on a terminal. */
  readonly bar?: string
  /** A header with a secret, which is typed or read from standard input. */
  readonly secretHeader?: string
  /** The change is refused if the resource, at the same path, changes after the command has begun. */
  readonly isUnchanged?: true
  /** The answer is printed as it is. */
  readonly isRaw?: true
}

export interface ResourceGroup {
  readonly name: string
  /** The operations need no credentials. */
  readonly isPublic?: true
  /** The group is its only command: `tollgate search TEXT`. */
  readonly isOneCommand?: true
  readonly commands: readonly ResourceCommand[]
  readonly examples: readonly Example[]
}

/**
 * Kinds of fields: `list` is separated by commas, `map` takes `key=value` several times, `file` is the content of a file in base64,
 * `address` becomes `{url}`, `json` is a JSON value, and `secret` is typed or read from standard input.
 */
export const FIELD_KINDS = [
  'text',
  'list',
  'map',
  'number',
  'flag',
  'boolean',
  'file',
  'address',
  'json',
  'secret',
] as const
export type FieldKind = (typeof FIELD_KINDS)[number]

export interface Field {
  readonly name: string
  readonly kind: FieldKind
}

export function fieldsOf({ fields = '' }: ResourceCommand): readonly Field[] {
  return wordsOf(fields).map((word) => {
    const [name = '', kind = 'text'] = word.split(':')
    return { name, kind: kind as FieldKind }
  })
}

export function wordsOf(text = ''): readonly string[] {
  return text.split(' ').filter((word) => word !== '')
}

/** Names of the parameters of the path. */
export function parametersOf({ call }: ResourceCommand): readonly string[] {
  return [...call.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name)
}

/** `slaVariant` becomes `sla-variant`, `ApiProductId` becomes `api-product-id`. */
export function toKebab(name: string): string {
  return name.replace(/(?<=[a-z])([A-Z])/g, '-$1').toLowerCase()
}

/** Options that every command has. */
const RESERVED = ['context', 'output', 'input', 'field', 'json-field', 'limit', 'cursor', 'help']

/** Name of the option for a field or a filter. */
export function toFlag(name: string): string {
  const flag = toKebab(name)
  return `--${RESERVED.includes(flag) ? `${flag}-text` : flag}`
}

/** Whether the answer is a page of a list. */
export function isPaged({ call, columns }: ResourceCommand): boolean {
  return call.startsWith('GET ') && columns !== undefined
}
