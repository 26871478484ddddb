/** `/v1/apis/{name}/compliance`: compliance of an API, with or without a programme. */

import type { Apis } from '../../control/publishing/apis.ts'
import type { ApiCompliance, ApiComplianceReader } from '../../control/programmes/api-compliance.ts'
import type { Handlers, Operations } from './operation.ts'
import type { Schema } from './schema-type.ts'
import { named, nullable, object, text, time } from './schemas.ts'
import { bandOf } from './validation.ts'

const points = { type: 'number', minimum: 0, maximum: 100 } as const
const band = { type: 'string', enum: ['clean', 'attention', 'drift'] } as const

/** Fields that the compliance of an API and of a programme share. */
export const complianceFields = {
  score: { ...points, description: 'The lower of `specification` and `runtime`.' },
  band,
  specification: points,
  runtime: {
    ...points,
    description:
      'Score of the implementation, by the deviations from the contract that calls of the last 30 days have shown.',
  },
  violations: {
    type: 'array',
    items: object({ kind: text, operation: nullable(text), detail: text, lastSeen: time }),
  },
  history: { type: 'array', items: object({ revision: { type: 'integer' }, score: points, time }) },
} as const satisfies Readonly<Record<string, Schema>>

export const COMPLIANCE_OPERATIONS = {
  getApiCompliance: {
    method: 'GET',
    path: '/v1/apis/:name/compliance',
    summary: 'Returns how well the document and the running implementation of an API comply',
    description: 'Each activation is scored shortly after it. Until then `score`, `band` and `specification` are null.',
    tag: 'Governance',
    scope: 'apis:read',
    status: 200,
    answer: named(
      'ApiCompliance',
      object({
        ...complianceFields,
        score: nullable(complianceFields.score),
        band: { type: ['string', 'null'], enum: [...(band['enum'] as readonly string[]), null] },
        specification: nullable(points),
      }),
    ),
  },
} as const satisfies Operations

export interface ComplianceHandlersOptions {
  readonly apis: Pick<Apis, 'get'>
  readonly apiCompliance: ApiComplianceReader
}

export function complianceHandlers(options: ComplianceHandlersOptions): Handlers<typeof COMPLIANCE_OPERATIONS> {
  return {
    async getApiCompliance({ author, params }) {
      const { id } = await options.apis.get(author.tenant, params.name)
      return withBand(await options.apiCompliance.of(author.tenant, id))
    },
  }
}

export function withBand(compliance: ApiCompliance): ApiCompliance & { readonly band: string | null } {
  return { ...compliance, band: compliance.score === null ? null : bandOf(compliance.score) }
}
