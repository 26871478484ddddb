/** `tollgate approvals approve|reject|amend` and `tollgate programmes approve`: find the operation that decides a flow. */

import type { Command } from 'commander'
import { CommandFailed, EXIT_NEGATIVE } from '../exit-codes.ts'
import type { Io } from '../io.ts'
import { addOutputOption, type OutputOptions } from '../output/output-option.ts'
import { printResult } from '../output/print-result.ts'
import { fetchList } from '../resources/build-resource.ts'
import { createApiClient, type ApiClient } from '../session/api-client.ts'
import { openSession } from '../session/session.ts'

type DecisionOptions = OutputOptions & { readonly comments?: string }

const OUTCOMES = { approve: 'Approved', reject: 'Rejected', amend: 'AmendmentRequired' } as const
const SUMMARIES = {
  approve: 'Approves a flow.',
  reject: 'Rejects a flow.',
  amend: 'Asks the requester to amend the request.',
} as const
const FLOWS_MAX = '5000'

export function addApprovalCommands(command: Command, io: Io): void {
  for (const verb of Object.keys(OUTCOMES) as (keyof typeof OUTCOMES)[]) {
    const sub = command.command(verb).description(SUMMARIES[verb]).argument('<flow-id>')
    sub.option('--comments <text>', 'the reason')
    addOutputOption(sub).action(async (flow: string, options: DecisionOptions) => {
      const client = createApiClient(await openSession(io, options.context))
      await decide(client, await findFlow(client, flow), { id: flow, outcome: OUTCOMES[verb], options }, io)
    })
  }
}

export function addProgrammeCommands(command: Command, io: Io): void {
  const approve = command
    .command('approve')
    .description('Approves a programme that waits for a decision.')
    .argument('<id>')
  approve.option('--comments <text>', 'the reason')
  addOutputOption(approve).action(async (id: string, options: DecisionOptions) => {
    const client = createApiClient(await openSession(io, options.context))
    const path = `/v1/programmes/${encodeURIComponent(id)}`
    const { approvalFlow } = (await client.call({ method: 'GET', path })) as { readonly approvalFlow?: string | null }
    if (!approvalFlow) throw new CommandFailed(`The programme ${id} does not wait for a decision.`, EXIT_NEGATIVE)
    await decide(
      client,
      `${path}/approvalFlows/${encodeURIComponent(approvalFlow)}`,
      { id, outcome: 'Approved', options },
      io,
    )
  })
}

/** Returns the path of a flow. */
async function findFlow(client: ApiClient, id: string): Promise<string> {
  const { items } = await fetchList(client, '/v1/approvals', { limit: FLOWS_MAX })
  const flow = items.find((item) => item['id'] === id)
  if (flow === undefined) throw new CommandFailed(`No approval flow ${id} waits for a decision.`, EXIT_NEGATIVE)
  const { programme, subscription } = flow
  const owner = typeof programme === 'string' ? `programmes/${programme}` : `subscriptions/${String(subscription)}`
  return `/v1/${owner}/approvalFlows/${encodeURIComponent(id)}`
}

interface Decision {
  /** The argument of the command. */
  readonly id: string
  readonly outcome: string
  readonly options: DecisionOptions
}

async function decide(client: ApiClient, flow: string, { id, outcome, options }: Decision, io: Io): Promise<void> {
  const { comments } = options
  const body = JSON.stringify({ outcome, ...(comments !== undefined && { comments }) })
  await printResult(await client.call({ method: 'POST', path: `${flow}/approvals`, body }), options.output, io, { id })
}
