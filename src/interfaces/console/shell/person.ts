/** The person who is signed in, and what their rights are. */

import { computed, signal } from '@preact/signals'
import { isSignedIn, read } from '../api/client.ts'
import { findPortal } from './brand.ts'
import type { Answer } from '../api/operations.ts'

const PROCESS_SCOPES: ReadonlySet<string> = new Set(['settings:read', 'health:read'])

export const person = signal<Answer<'/v1/me'> | null>(null)
/** The scopes that open something: those of the process open nothing outside the tenant of the operator. */
export const scopes = computed<ReadonlySet<string>>(() => {
  const { scopes: held = [], isOperator = false } = person.value ?? {}
  return new Set(held.filter((scope) => isOperator || !PROCESS_SCOPES.has(scope)))
})

/** Throws `CallRefused`; after 401 there is no session. */
export async function findPerson(): Promise<void> {
  const [found] = await Promise.all([read('/v1/me'), findPortal()])
  person.value = found
  isSignedIn.value = true
}

export function may(scope: string): boolean {
  return scopes.value.has(scope) || scopes.value.has(`${scope}:own`)
}
