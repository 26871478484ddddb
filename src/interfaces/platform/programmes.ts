/** `/v1/programmes`: take a document through eight steps to a running API. */

import { STEPS } from '../../control/programmes/programme-machine.ts'
import { pageOf } from '../../control/command/page.ts'
import type { Approvals } from '../../control/subscriptions/approvals.ts'
import type { Programmes } from '../../control/programmes/programmes.ts'
import { approval, decideBy, deciding, type ApprovalHandlersOptions } from './approvals.ts'
import { backendInput } from './backend-input.ts'
import { complianceFields, withBand } from './compliance.ts'
import type { Handlers, Operations } from './operation.ts'
import { renamed } from './renamed-filter.ts'
import {
  base64,
  DOCUMENT_BODY_BYTES_MAX,
  finding,
  formerly,
  id,
  labelledQuery,
  labels,
  list,
  name,
  named,
  nullable,
  object,
  pagedQuery,
  reference,
  text,
  time,
} from './schemas.ts'
import { preferredType } from '../../foundation/runtime/accept.ts'
import type { ProgressStream } from './progress-stream.ts'

const points = { type: 'number', minimum: 0, maximum: 100 } as const
const count = { type: 'integer' } as const
const status = { type: 'string', enum: ['running', 'waiting', 'failed', 'succeeded'] } as const
const programmeFields = {
  id,
  name: text,
  api: nullable(id),
  status,
  score: { ...points, type: ['number', 'null'] },
  approvalFlow: nullable(id),
  proxy: nullable(id),
  subscription: nullable(id),
  recommendations: { type: 'array', items: object({ rule: text, advice: text, count, gain: points }) },
  labels,
  createdAt: time,
} as const
const programme = named('Programme', object(programmeFields))
const withSpecification = named(
  'ProgrammeWithSpecification',
  object({
    ...programmeFields,
    specification: { ...text, description: 'The OpenAPI document as sent, in base64.' },
  }),
)
const progressShape = named(
  'Progress',
  object({
    status,
    currentStep: { type: 'integer', minimum: 1, maximum: STEPS.length },
    steps: {
      type: 'array',
      items: object({
        number: count,
        name: { type: 'string', enum: [...STEPS] },
        status: { type: 'string', enum: ['pending', 'running', 'waiting', 'done', 'failed'] },
        startedAt: nullable(time),
        endedAt: nullable(time),
        errors: { type: 'array', items: finding },
      }),
    },
  }),
)
const tag = 'Governance'
const PATH = '/v1/programmes'
const reading = { method: 'GET', tag, scope: 'programmes:read', status: 200 } as const
const writing = { tag, scope: 'programmes:write' } as const

export const PROGRAMME_OPERATIONS = {
  createProgramme: {
    ...writing,
    method: 'POST',
    path: PATH,
    summary: 'Creates a programme, which takes a document through eight steps to a running API',
    description: `The steps: ${STEPS.join(', ')}. \`progress\` reports the current step.`,
    body: named(
      'ProgrammeInput',
      object({ name, specification: base64, openSla: base64, backend: backendInput, labels }, [
        'name',
        'specification',
      ]),
    ),
    bodyBytesMax: 2 * DOCUMENT_BODY_BYTES_MAX,
    status: 202,
    location: `${PATH}/:id/progress`,
    answer: programme,
  },
  listProgrammes: {
    ...reading,
    path: PATH,
    summary: 'Lists the programmes of the tenant',
    query: labelledQuery({ api: reference, status, state: formerly('status', status) }),
    answer: list(programme),
  },
  getProgramme: {
    ...reading,
    path: `${PATH}/:id`,
    summary: 'Returns a programme with its document',
    answer: withSpecification,
  },
  updateProgramme: {
    ...writing,
    method: 'PUT',
    path: `${PATH}/:id`,
    summary: 'Takes a new version within the same major version through the same steps',
    body: named('ProgrammeUpdate', object({ specification: base64 })),
    bodyBytesMax: DOCUMENT_BODY_BYTES_MAX,
    status: 202,
    location: `${PATH}/:id/progress`,
    answer: programme,
    problems: ['state_conflict', 'breaking_change', 'specification_invalid'],
    changes: 'getProgramme',
  },
  labelProgramme: {
    ...writing,
    method: 'PATCH',
    path: `${PATH}/:id`,
    summary: 'Changes the labels of a programme, after the step that is running',
    body: named('ProgrammeChange', object({ labels }, [])),
    status: 200,
    answer: programme,
    problems: ['state_conflict'],
    changes: 'getProgramme',
  },
  retryProgramme: {
    ...writing,
    method: 'POST',
    path: `${PATH}/:id/retry`,
    summary: 'Retries the failed step and continues',
    status: 202,
    location: `${PATH}/:id/progress`,
    answer: programme,
    problems: ['state_conflict'],
    changes: 'getProgramme',
  },
  getProgress: {
    ...reading,
    path: `${PATH}/:id/progress`,
    summary: 'Returns the progress of a programme, as JSON or as Server-Sent Events',
    description:
      'With `Accept: text/event-stream` each change is sent as an event named `progress`; the stream ends with the programme.',
    answer: progressShape,
    mediaTypes: ['text/event-stream'],
    eventData: progressShape,
  },
  getCompliance: {
    ...reading,
    path: `${PATH}/:id/compliance`,
    summary: 'Returns how well the document and the running implementation of a programme comply',
    answer: named('Compliance', object(complianceFields)),
  },
  listProgrammeApprovals: {
    ...reading,
    path: `${PATH}/:id/approvalFlows/:flowId/approvals`,
    summary: 'Lists the decisions on a programme: approver, time and comments',
    query: pagedQuery(),
    answer: list(approval),
  },
  decideOnProgramme: {
    ...deciding,
    path: `${PATH}/:id/approvalFlows/:flowId/approvals`,
    summary: 'Decides on a programme of another caller',
    tag,
    changes: 'getProgramme',
  },
} as const satisfies Operations

export interface ProgrammeHandlersOptions {
  readonly programmes: Programmes
  readonly progress: ProgressStream
  readonly approvals: Approvals
  readonly onSelfApproval: ApprovalHandlersOptions['onSelfApproval']
}

export function programmeHandlers(options: ProgrammeHandlersOptions): Handlers<typeof PROGRAMME_OPERATIONS> {
  const { programmes, progress, approvals, onSelfApproval } = options
  return {
    createProgramme: async ({ author, body }) => programmes.create(author, body),
    listProgrammes: async ({ author, query }) =>
      programmes.list(author.tenant, { ...query, ...renamed(query, 'status', 'state') }),
    getProgramme: async ({ author, params }) => programmes.get(author.tenant, params.id),
    updateProgramme: async ({ author, params, body }) => programmes.update(author, params.id, body.specification),
    labelProgramme: async ({ author, params, body }) => programmes.label(author, params.id, body),
    retryProgramme: async ({ author, params }) => programmes.retry(author, params.id),
    async getProgress(call, reply) {
      const { author, params, request } = call
      const { tenant } = author
      const current = await programmes.progress(tenant, params.id)
      const { accept } = request.headers
      if (preferredType(accept, ['application/json', 'text/event-stream']) !== 'text/event-stream') return current
      await progress.open(call, reply, params.id)
      return reply
    },
    getCompliance: async ({ author, params }) => withBand(await programmes.compliance(author.tenant, params.id)),
    async listProgrammeApprovals({ author, params, query }) {
      const flow = await approvals.ofProgramme.flow(author.tenant, params.id, params.flowId)
      return pageOf(flow.approvals, query)
    },
    decideOnProgramme: (call) => decideBy(approvals.ofProgramme.decide, call, onSelfApproval),
  }
}
