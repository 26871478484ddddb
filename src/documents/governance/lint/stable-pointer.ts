/** Pointers that stay the same if an item moves within its list, for what must recognise a finding in a later version. */

import { fieldsOf } from '../../../foundation/json/fields.ts'

const TEXT_MAX = 200

/**
 * Replaces positions in lists by what identifies the item: a reference, a name with its location, a URL, or a text; else by `unnamed`
 * if it is given.
 */
export function toStablePointer(document: unknown, pointer: string, unnamed: string | null = null): string {
  let value = document
  let stable = ''
  for (const part of pointer.split('/').slice(1)) {
    const key = part.replaceAll('~1', '/').replaceAll('~0', '~')
    const isMember = typeof value === 'object' && value !== null && Object.hasOwn(value, key)
    const inner: unknown = isMember ? (value as Record<string, unknown>)[key] : undefined
    const identity = Array.isArray(value) ? (identityOf(inner) ?? unnamed) : null
    stable += `/${identity ?? part}`
    value = inner
  }
  return stable
}

function identityOf(item: unknown): string | null {
  if (typeof item === 'string') return item.slice(0, TEXT_MAX)
  const { $ref: reference, name, in: location, url } = fieldsOf(item)
  const texts = [reference ?? name ?? url, location].filter((text) => typeof text === 'string')
  return texts.length === 0 ? null : texts.join(' ').slice(0, TEXT_MAX)
}
