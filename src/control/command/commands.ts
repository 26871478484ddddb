/** Helpers of all commands: find a resource of the tenant, commit, and convert store errors into problems. */

import type { EventActions, StepRefused } from './persisted-machine.ts'
import type { EncodedText } from '../../foundation/domain/encoded-text.ts'
import { Problem, type Conflict } from '../../foundation/domain/problem.ts'
import {
  KeyTaken,
  RevisionConflict,
  type Author,
  type Document,
  type DocumentKind,
  type Registry,
  type Write,
} from '../../storage/store/registry.ts'
import { StoreUnwritable } from '../../storage/store/unwritable.ts'

/** Returns the document. Throws `Problem('not_found')` if it does not exist or belongs to another tenant. */
export async function find<Body>(
  registry: Registry,
  tenant: string,
  kind: DocumentKind<Body>,
  id: string,
): Promise<Document<Body>> {
  const document = await registry.get(kind, id)
  if (document === null || document.tenant !== tenant) {
    throw notFound(kind, id)
  }
  return document
}

export function notFound(kind: string, id: string): Problem {
  return new Problem('not_found', `There is no ${kind} ${id.slice(0, 128)}.`)
}

/** Removes a document of the tenant. Throws `Problem('not_found')`. */
export async function removeDocument<Body>(
  registry: Registry,
  author: Author,
  action: string,
  kind: DocumentKind<Body>,
  id: string,
): Promise<void> {
  const { tenant, revision } = await find(registry, author.tenant, kind, id)
  await commit(registry, author, action, [{ kind, id, tenant, expected: revision, body: null }])
}

/** The conflict of a change that another request has overtaken. */
export const CHANGED: Conflict = { state: 'changed', allowed: [] }

/** Commits, and converts errors of the registry into problems. */
export async function commit(
  registry: Registry,
  author: Author,
  action: string,
  writes: readonly Write[],
  nameTakenDetail = 'The name is taken.',
): Promise<void> {
  try {
    await registry.commit(author, action, writes)
  } catch (cause) {
    if (cause instanceof KeyTaken) throw new Problem('name_taken', nameTakenDetail, { cause })
    if (cause instanceof RevisionConflict) {
      throw new Problem('state_conflict', 'The resource was changed by another request. Read it again, then retry.', {
        cause,
        extensions: CHANGED,
      })
    }
    if (cause instanceof StoreUnwritable) {
      const detail = `No changes can be stored at the moment: ${cause.because}. Retry later.`
      throw new Problem('unavailable', detail, { cause })
    }
    throw cause
  }
}

/** Returns the conflict of an event that the state of a resource does not accept. */
export function refusedStep(refused: StepRefused, actions: EventActions): Problem {
  const allowed = refused.allowed.map((event) => actions[event] ?? null).filter((action) => action !== null)
  return stateConflict({ state: refused.state, allowed: [...new Set(allowed)] })
}

export function stateConflict({ state, allowed }: Conflict): Problem {
  const detail = `The state is ${state}; it allows ${allowed.length === 0 ? 'no further action' : allowed.join(', ')}.`
  return new Problem('state_conflict', detail, { extensions: { state, allowed } })
}

export function invalidAt(pointer: string, detail: string): Problem {
  return new Problem('payload_invalid', 'The body does not match its schema.', { errors: [{ pointer, detail }] })
}

/** RFC 3339, UTC, milliseconds. */
export function toTime(timeMs: number): string {
  return new Date(timeMs).toISOString()
}

/** Decodes base64, which may contain white space. Throws a 400 problem at `pointer` if it is invalid. */
export function fromBase64(text: EncodedText, pointer: string): Buffer {
  if (typeof text !== 'string') return Buffer.from(text.buffer, text.byteOffset, text.length)
  const digits = text.replaceAll(/\s/g, '')
  const bytes = Buffer.from(digits, 'base64')
  // Decoding skips other characters, so the length tells whether there are any; an expression takes 80 ms for 10 MB.
  const length = digits.length - /={0,2}$/.exec(digits.slice(-2))![0].length
  const isBase64 = bytes.length === Math.floor((length * 3) / 4) && !digits.includes('-') && !digits.includes('_')
  if (length === 0 || length % 4 === 1 || !isBase64) throw invalidAt(pointer, 'The value must be base64.')
  return bytes
}
