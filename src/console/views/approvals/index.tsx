/** Requests that wait for a decision: subscriptions, changes of tier and programmes. */

import { useState } from 'preact/hooks'
import { CallRefused, change } from '../../api/client.ts'
import type { Item } from '../../api/operations.ts'
import { useRead } from '../../api/use-read.ts'
import { Pages } from '../../parts/pages.tsx'
import { Empty, Loaded } from '../../parts/states.tsx'
import { Table } from '../../parts/table.tsx'
import { Id, Time } from '../../parts/values.tsx'
import { scopes } from '../../shell/person.ts'
import { Page } from '../../parts/page.tsx'
import { texts } from '../../texts.ts'

type Flow = Item<'/v1/approvals'>
type Outcome = 'Approved' | 'Rejected'

const words = texts.approvals

export function Approvals() {
  const [done, setDone] = useState('')
  const reading = useRead('/v1/approvals', { query: Pages.query() })
  const onDecided = (outcome: Outcome): void => {
    setDone(outcome === 'Approved' ? words.approved : words.rejected)
    reading.reload()
  }
  return (
    <Page title={words.title}>
      <p role="status">{done}</p>
      <Loaded reading={reading}>
        {({ items, next }) =>
          items.length === 0 ? (
            <Empty text={words.none} commands={['tollgate approvals list']} />
          ) : (
            <>
              <Table
                caption={words.title}
                keyOf={({ id }) => id}
                rows={items}
                columns={[
                  { title: words.columns.kind, cell: ({ kind }) => words.kinds[kind] },
                  { title: words.columns.requester, cell: ({ requester }) => <Id value={requester} /> },
                  { title: words.columns.tier, cell: ({ slaVariant }) => slaVariant || words.defaultTier },
                  { title: words.columns.reason, cell: ({ reason }) => <bdi>{reason ?? ''}</bdi> },
                  { title: words.columns.created, cell: ({ createdAt }) => <Time at={createdAt} /> },
                  { title: words.columns.decide, cell: (flow) => <Decision flow={flow} onDecided={onDecided} /> },
                ]}
              />
              <Pages.Next cursor={next} />
            </>
          )
        }
      </Loaded>
    </Page>
  )
}

interface DecisionProps {
  readonly flow: Flow
  readonly onDecided: (outcome: Outcome) => void
}

/** Nothing for a person who may not decide. */
function Decision({ flow, onDecided }: DecisionProps) {
  const [comments, setComments] = useState('')
  const [isSent, setSent] = useState(false)
  const [fault, setFault] = useState('')
  if (!scopes.value.has('approvals:write')) return null
  const decide = async (outcome: Outcome): Promise<void> => {
    setSent(true)
    try {
      await send(flow, { outcome, ...(comments.trim() !== '' && { comments: comments.trim() }) })
      onDecided(outcome)
    } catch (cause) {
      if (!(cause instanceof CallRefused)) throw cause
      setFault(cause.problem.detail)
    } finally {
      setSent(false)
    }
  }
  return (
    <form class="decision" onSubmit={(event) => event.preventDefault()}>
      <input
        value={comments}
        maxLength={2_000}
        placeholder={words.comments}
        aria-label={words.commentsOf(flow.id)}
        onInput={({ currentTarget }) => setComments(currentTarget.value)}
      />
      <button type="button" class="main" disabled={isSent} onClick={() => decide('Approved')}>
        {words.approve}
      </button>
      <button type="button" disabled={isSent} onClick={() => decide('Rejected')}>
        {words.reject}
      </button>
      {fault !== '' && <span role="alert">{fault}</span>}
    </form>
  )
}

async function send(
  { id: flowId, subscription, programme }: Flow,
  body: { readonly outcome: Outcome; readonly comments?: string },
): Promise<void> {
  if (subscription !== null) {
    const params = { id: subscription, flowId }
    await change('POST /v1/subscriptions/:id/approvalFlows/:flowId/approvals', params, body)
    return
  }
  const params = { id: programme ?? '', flowId }
  await change('POST /v1/programmes/:id/approvalFlows/:flowId/approvals', params, body)
}
