/**
 * The verdict on a document: every reason why it cannot be served.
 *
 * The rules, the command line tool and the deployment all depend on it, so a document that validates can be deployed.
 */

import type { ProblemPointer } from '../../../foundation/domain/problem.ts'
import { toSwaggerSpots } from '../convert/swagger-pointer.ts'
import { distinct, readDocument, withoutConsequences, type JudgedSpecification } from '../specification.ts'
import { compileServing } from './compile-route-plan.ts'

export interface Verdict {
  readonly specification: JudgedSpecification
  /** The name that the document yields; null if it can be judged but not deployed. */
  readonly technicalName: string | null
  readonly faults: readonly ProblemPointer[]
  /** Reasons why the document, although it can be judged, cannot be deployed. */
  readonly obstacles: readonly ProblemPointer[]
}

/** Stands for the name of a document that yields none; the default scopes contain it. */
const UNNAMED = 'unnamed-v0'

/** Throws `Problem('specification_invalid')` only for text that is not an OpenAPI document. */
export function judge(bytes: Uint8Array): Verdict {
  const { specification, deployable, faults, obstacles } = readDocument(bytes)
  const technicalName = deployable?.technicalName ?? null
  const serving = findServingFaults({ ...specification, technicalName: technicalName ?? UNNAMED }, faults)
  const served = toSwaggerSpots(specification.swagger, serving)
  return { specification, technicalName, faults: withoutConsequences(distinct([...faults, ...served])), obstacles }
}

/** Leaves out consequences of the `known` faults. */
function findServingFaults(
  source: Parameters<typeof compileServing>[0],
  known: readonly ProblemPointer[],
): readonly ProblemPointer[] {
  const faults: ProblemPointer[] = []
  try {
    compileServing(source, faults)
  } catch (cause) {
    // A document of the wrong form need not compile.
    if (known.length === 0) throw cause
  }
  const explained = new Set<string>()
  for (const { pointer } of known) {
    for (let at = pointer; at !== '' && !explained.has(at); at = at.slice(0, at.lastIndexOf('/'))) explained.add(at)
  }
  return faults.filter(({ pointer }) => !explained.has(pointer))
}
