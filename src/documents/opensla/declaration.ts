/**
 * Reads an OpenSLA 1.0.0 declaration, YAML or JSON, and compiles it to a plan.
 *
 * Accepts everything that the published text or its JSON schema allows. `quotas`, `resourceUnits`, `price` and `guarantees` are
 * extensions of Tollgate. All faults are reported together, with pointers. Parts without effect (unknown members, definitions that
 * never apply) are warnings.
 */

import { Problem, type ProblemPointer } from '../../foundation/domain/problem.ts'
import { readDocument } from './document.ts'
import { compileLimits } from './limits.ts'
import { Faults, fieldsAt, numberAt, textAt, type Fields } from './reader.ts'
import { readGuarantees, readRuntime } from './runtime.ts'
import { withShortForms } from './short-forms.ts'
import type { SlaPlan } from '../../boundary/plan/sla-plan.ts'
import { readPrice, readQuota, readUnits } from './units.ts'

export interface DeclaredApi {
  readonly technicalName: string
  readonly operationIds: readonly string[]
}

export interface Declaration {
  readonly plan: SlaPlan
  /** Members of the document. */
  readonly fields: Fields
  readonly warnings: readonly ProblemPointer[]
}

const ALERT_PERCENT = 80
const SECTIONS = ['opensla', 'info', 'oas', 'support', 'continuity', 'recovery', 'runtime', 'limits']
const EXTENSIONS = ['quotas', 'resourceUnits', 'price', 'guarantees']

/** Throws `Problem('specification_invalid')` with every fault found. */
export function parseDeclaration(bytes: Uint8Array, api: DeclaredApi): SlaPlan {
  return checkDeclaration(bytes, api).plan
}

/** Compiles the members of a declaration that was read before. Throws like `parseDeclaration`, without places in the text. */
export function compileDeclaration(root: Fields, api: DeclaredApi): SlaPlan {
  const faults = new Faults()
  const plan = toPlan(root, api, faults)
  if (faults.all.length > 0) throw refusal(faults.all)
  return plan
}

/** Returns the plan with warnings of parts that have no effect or are probably mistakes. Throws like `parseDeclaration`. */
export function checkDeclaration(bytes: Uint8Array, api: DeclaredApi): Declaration {
  const { fields: root, placeOf } = readDocument(bytes)
  const faults = new Faults()
  faults.warnOfOthers(root, [...SECTIONS, ...EXTENSIONS], '')
  const plan = toPlan(root, api, faults)
  const placed = (findings: readonly ProblemPointer[]): readonly ProblemPointer[] =>
    findings.map((finding) => ({ ...finding, ...placeOf(finding.pointer) }))
  if (faults.all.length > 0) throw refusal(placed(faults.all))
  return { plan, fields: root, warnings: placed(faults.warnings) }
}

function refusal(errors: readonly ProblemPointer[]): Problem {
  return new Problem('specification_invalid', 'The OpenSLA declaration cannot be used.', { errors })
}

function toPlan(root: Fields, { technicalName, operationIds }: DeclaredApi, faults: Faults): SlaPlan {
  const known = new Set(operationIds)
  if (typeof root['opensla'] !== 'string' || !/^1\.\d+\.\d+$/.test(root['opensla'])) {
    faults.add('/opensla', 'Give the version of OpenSLA, such as 1.0.0.')
  }
  const info = fieldsAt(root['info'], '/info', faults) ?? {}
  const quotas = fieldsAt(root['quotas'], '/quotas', faults) ?? {}
  const alertPercent = numberAt(quotas['alertThreshold'], '/quotas/alertThreshold', faults, { above: 0, max: 100 })
  return {
    api: technicalName,
    variant: info['variant'] === undefined ? '' : (textAt(info['variant'], '/info/variant', faults) ?? ''),
    number: 0,
    version: info['version'] === undefined ? '1.0.0' : (textAt(info['version'], '/info/version', faults) ?? ''),
    ...withShortForms(compileLimits(root['limits'], known, faults), quotas, faults),
    quota: readQuota(quotas, faults),
    alertShare: (alertPercent ?? ALERT_PERCENT) / 100,
    unitsMicro: readUnits(root['resourceUnits'], known, faults),
    runtime: [...readRuntime(root['runtime'], known, faults), ...readGuarantees(root['guarantees'], faults)],
    ...readPrice(root['price'], faults),
  }
}
