/** What all commands share: finding a resource of one's tenant, and saying why a change was refused. */

import type { StepRefused } from './persisted-machine.ts'
import { Problem } from '../domain/problem.ts'
import {
  KeyTaken,
  RegistryFull,
  RevisionConflict,
  type Author,
  type Document,
  type DocumentKind,
  type Registry,
  type Write,
} from '../store/registry.ts'
import { StoreUnwritable } from '../store/unwritable.ts'

/** The document, or `Problem('not_found')`: another tenant's is not there either. */
export async function find<Body>(
  registry: Registry,
  tenant: string,
  kind: DocumentKind<Body>,
  id: string,
): Promise<Document<Body>> {
  const document = await registry.get(kind, id)
  if (document === null || document.tenant !== tenant) {
    throw new Problem('not_found', `There is no ${kind} ${id.slice(0, 128)}.`)
  }
  return document
}

/** Commits, and mutex what the registry refuses into problems. */
export async function commit(
  registry: Registry,
  author: Author,
  action: string,
  writes: readonly Write[],
  taken = 'The name is taken.',
): Promise<void> {
  try {
    await registry.commit(author, action, writes)
  } catch (cause) {
    if (cause instanceof KeyTaken) throw new Problem('name_taken', taken, { cause })
    if (cause instanceof RevisionConflict) {
      throw new Problem('state_conflict', 'Another change came first. Read the resource again.', { cause })
    }
    if (cause instanceof RegistryFull) {
      throw new Problem('unavailable', 'Nothing can be written at the moment; the disk is full.', { cause })
    }
    if (cause instanceof StoreUnwritable) {
      throw new Problem('unavailable', 'Nothing can be written at the moment; the disk refuses.', { cause })
    }
    throw cause
  }
}

export function stateConflict({ state, allowed }: StepRefused): Problem {
  const detail = `The state is ${state}; it allows ${allowed.length === 0 ? 'nothing more' : allowed.join(', ')}.`
  return new Problem('state_conflict', detail, { extensions: { state, allowed } })
}

export function invalidAt(pointer: string, detail: string): Problem {
  return new Problem('payload_invalid', 'The body is not as declared.', { errors: [{ pointer, detail }] })
}

/** RFC 3339, UTC, milliseconds. */
export function toTime(timeMs: number): string {
  return new Date(timeMs).toISOString()
}

/** The bytes of a base64 text, which may be wrapped; 400 at `pointer` where it is not one. */
export function fromBase64(text: string, pointer: string): Buffer {
  // In two steps: one expression that allows white space anywhere takes quadratic time over much of it.
  const digits = text.replaceAll(/\s/g, '')
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(digits)) throw invalidAt(pointer, 'Give base64.')
  return Buffer.from(digits, 'base64')
}
