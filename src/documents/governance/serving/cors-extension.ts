/** Which pages of other origins may call the API (`x-tollgate-cors`). */

import type { ProblemPointer } from '../../../foundation/domain/problem.ts'
import type { Fields } from '../../../foundation/json/fields.ts'
import { readCorsPlan, type CorsPlan } from '../../../boundary/plan/cors.ts'

const CORS = 'x-tollgate-cors'

/** Returns the setting of the document; undefined if it has none, or an invalid one that an earlier version accepted. */
export function readCors(document: Fields, faults: ProblemPointer[]): CorsPlan | undefined {
  const value = document[CORS]
  return value === undefined ? undefined : readCorsPlan(value, `/${CORS}`, faults)
}
