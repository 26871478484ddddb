/**
 * Looks up credentials in the copy of the registry on the disk of this node while the registry does not answer, so that callers are served
 * whichever thread their connection reaches.
 *
 * The copy is asked only while it has every change that this node has received, so that it brings back nothing that was revoked. That
 * it lacks a credential proves nothing.
 */

import type { CredentialName, Grant } from '../../boundary/plan/grant.ts'
import type { Clock } from '../../foundation/runtime/clock.ts'

type Resolve = (name: CredentialName) => Promise<Grant | null>

export interface LastingGrantsOptions {
  readonly resolve: Resolve
  /** Looks up in the copy. */
  readonly resolveCopied: Resolve
  readonly isCopyCurrent: () => boolean
  readonly clock: Pick<Clock, 'after'>
}

/** A registry that hangs must not delay calls for longer. */
const WAIT_MS = 500

export function createLastingResolve({ resolve, resolveCopied, isCopyCurrent, clock }: LastingGrantsOptions): Resolve {
  const fromCopy = async (name: CredentialName): Promise<Grant | null> => (isCopyCurrent() ? resolveCopied(name) : null)

  return async (name) => {
    const asked = resolve(name)
    const { promise: late, resolve: end } = Promise.withResolvers<'late'>()
    const cancel = clock.after(WAIT_MS, () => end('late'))
    try {
      const answer = await Promise.race([asked, late])
      return answer === 'late' ? ((await fromCopy(name)) ?? (await asked)) : answer
    } catch (cause) {
      const grant = await fromCopy(name)
      if (grant === null) throw cause
      return grant
    } finally {
      cancel()
    }
  }
}
