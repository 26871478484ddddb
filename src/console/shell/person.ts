/** The person who is signed in, and what their rights are. */

import { computed, signal } from '@preact/signals'
import { isSignedIn, read } from '../api/client.ts'
import { findPortal } from './brand.ts'
import type { Answer } from '../api/operations.ts'

export const person = signal<Answer<'/v1/me'> | null>(null)
export const scopes = computed<ReadonlySet<string>>(() => new Set(person.value?.scopes ?? []))

/** Throws `CallRefused`; nobody is signed in after 401. */
export async function findPerson(): Promise<void> {
  const [found] = await Promise.all([read('/v1/me'), findPortal()])
  person.value = found
  isSignedIn.value = true
}

export function may(scope: string): boolean {
  return scopes.value.has(scope) || scopes.value.has(`${scope}:own`)
}
