/** The approval flows of a subscription, with their decisions. */

import { List } from '../../parts/list.tsx'
import { Id, State, Time } from '../../parts/values.tsx'
import { texts } from '../../texts.ts'
import { Comments } from './comments.tsx'

const words = texts.approvals

export function FlowList({ subscription: id }: { readonly subscription: string }) {
  return (
    <List
      path="/v1/subscriptions/:id/approvalFlows"
      params={{ id }}
      caption={words.title}
      keyOf={(flow) => flow.id}
      empty={{ text: words.noFlows, commands: [`tollgate subscriptions flows ${id}`] }}
      columns={[
        { title: words.columns.kind, cell: ({ kind }) => words.kinds[kind] },
        { title: words.columns.state, cell: ({ state }) => <State of={words.states[state]} /> },
        { title: words.columns.tier, cell: ({ slaVariant }) => <bdi>{slaVariant ?? words.defaultTier}</bdi> },
        { title: words.columns.requester, cell: ({ requester }) => <Id value={requester} /> },
        { title: words.columns.created, cell: ({ createdAt }) => <Time at={createdAt} /> },
        { title: words.columns.reason, cell: ({ reason }) => <bdi>{reason ?? ''}</bdi> },
        { title: words.columns.decisions, cell: ({ approvals }) => <Comments of={approvals} /> },
      ]}
    />
  )
}
