/** The usage that a killed process inserted, batch by batch. */

import type { LineItem } from '../../../src/storage/store/usage-store.ts'
import { createRandom } from '../../random.ts'
import { randomItems } from './random-usage.ts'

/** The same rows each time, as a repeated insert needs them. */
export function batchOf(seed: number, batch: number): readonly LineItem[] {
  return randomItems(createRandom(seed * 1_000 + batch), batch === 0 ? 400 : 25)
}
