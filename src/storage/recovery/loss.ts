/** A loss that the operator accepted: a document that `recover` writes, and the audit log of the service shows. */

import type { LossPart } from '../../foundation/runtime/accept-loss.ts'
import { documentKind } from '../store/registry.ts'

export interface Loss {
  readonly part: LossPart
  readonly loss: string
}

export const RECOVERY_KIND = documentKind<Loss>('recovery', ['part', 'loss'])
