/** The score of the platform's own document, which `packaging/score-platform.ts` computes when the service is installed or packed. */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { BuiltScore } from '../control/programmes/compliance.ts'

export const BUILT_SCORE = join(import.meta.dirname, '../../build/platform-score.json')

/** Returns null if there is none, for example after an installation without scripts. */
export function readBuiltScore(path = BUILT_SCORE): BuiltScore | null {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as BuiltScore
  } catch {
    return null
  }
}
