/** Compiles declarations to plans that people can read, before and after they are published. Changes nothing. */

import { fromBase64, find, invalidAt } from '../command/commands.ts'
import type { EncodedText } from '../../foundation/domain/encoded-text.ts'
import { Problem, type ProblemPointer } from '../../foundation/domain/problem.ts'
import { checkDeclaration } from '../../documents/opensla/declaration.ts'
import { showPlan, type PlanView } from '../../documents/opensla/plan-view.ts'
import { API_KIND } from './apis.ts'
import { readContent } from './published-content.ts'
import { OPENSLA_SPEC_KIND, operationsOf, type SpecificationsOptions } from './specifications.ts'

export interface DeclarationFinding extends ProblemPointer {
  readonly severity: 'error' | 'warning'
}

export interface CheckedDeclaration {
  /** Null if the declaration has errors. */
  readonly plan: PlanView | null
  readonly findings: readonly DeclarationFinding[]
}

export interface DeclaredPlans {
  /** Reports all faults and warnings of a declaration, and its plan if it can be used. */
  check(
    tenant: string,
    input: { readonly api: string; readonly specification: EncodedText },
  ): Promise<CheckedDeclaration>
  /** Returns the plan of a published declaration. */
  of(tenant: string, id: string): Promise<PlanView>
}

export type DeclaredPlansOptions = Pick<SpecificationsOptions, 'registry' | 'platformOperations'>

export function createDeclaredPlans(options: DeclaredPlansOptions): DeclaredPlans {
  const { registry } = options
  return {
    async check(tenant, { api, specification }) {
      const entry = await registry.get(API_KIND, api)
      const operationIds = await operationsOf(options, api)
      if (entry?.tenant !== tenant || operationIds.length === 0)
        throw invalidAt('/api', 'The API does not exist or has no revision.')
      return check(fromBase64(specification, '/specification'), { technicalName: api, operationIds })
    },
    async of(tenant, id) {
      const { body } = await find(registry, tenant, OPENSLA_SPEC_KIND, id)
      const { bytes } = await readContent(registry, tenant, id)
      const known = new Set([...(await operationsOf(options, body.api)), ...body.operationIds])
      return showPlan(checkDeclaration(bytes, { technicalName: body.api, operationIds: [...known] }).plan)
    },
  }
}

function check(...args: Parameters<typeof checkDeclaration>): CheckedDeclaration {
  try {
    const { plan, warnings } = checkDeclaration(...args)
    return { plan: showPlan(plan), findings: warnings.map(toFinding('warning')) }
  } catch (cause) {
    if (!(cause instanceof Problem) || cause.code !== 'specification_invalid') throw cause
    const { errors, message } = cause
    const faults = errors.length > 0 ? errors : [{ pointer: '', detail: message }]
    return { plan: null, findings: faults.map(toFinding('error')) }
  }
}

function toFinding(severity: DeclarationFinding['severity']): (found: ProblemPointer) => DeclarationFinding {
  return (found) => ({ ...found, severity })
}
