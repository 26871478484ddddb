/** Requests that wait for a decision: subscriptions, changes of tier and programmes. */

import { useRef, useState } from 'preact/hooks'
import { change } from '../../api/client.ts'
import type { Item } from '../../api/operations.ts'
import { useRead } from '../../api/use-read.ts'
import { Refusal, useAction } from '../../parts/dialog.tsx'
import { Filters, SelectFilter } from '../../parts/filters.tsx'
import { Page } from '../../parts/page.tsx'
import { Pages } from '../../parts/pages.tsx'
import { Empty, Loaded } from '../../parts/states.tsx'
import { Id, State, Time } from '../../parts/values.tsx'
import { BASE, query } from '../../router.ts'
import { may, person, scopes } from '../../shell/person.ts'
import { texts } from '../../texts.ts'
import { Comments } from './comments.tsx'
import { titleOf } from './subscription-name.ts'

type Flow = Item<'/v1/approvals'>
type Outcome = Flow['approvals'][number]['outcome']

const words = texts.approvals
/** Each needs a call for its subscription. */
const PER_PAGE = '20'
const OPEN = ['Submitted', 'InProgress']

export function Approvals() {
  const [done, setDone] = useState('')
  const state = query.value.get('state') ?? ''
  const reading = useRead('/v1/approvals', { query: { ...Pages.query(), state, limit: PER_PAGE } })
  const onDecided = (outcome: Outcome): void => {
    setDone(words.done[outcome])
    reading.reload()
  }
  return (
    <Page title={words.title}>
      <Filters>
        <SelectFilter name="state" label={words.columns.state} options={Object.entries(words.filters)} />
      </Filters>
      <p role="status">{done}</p>
      <Loaded reading={reading}>
        {({ items, next }) => (
          <>
            {items.length === 0 && <Empty text={words.none} commands={['tollgate approvals list']} />}
            {items.map((flow) => (
              <Request key={flow.id} flow={flow} onDecided={onDecided} />
            ))}
            <Pages.Next cursor={next} />
          </>
        )}
      </Loaded>
    </Page>
  )
}

interface RequestProps {
  readonly flow: Flow
  readonly onDecided: (outcome: Outcome) => void
}

function Request({ flow, onDecided }: RequestProps) {
  const { id, kind, state, requester, slaVariant, reason, approvals, escalatedAt, createdAt } = flow
  const isOpen = OPEN.includes(state)
  return (
    <article class="card" aria-labelledby={id}>
      <h2 id={id}>
        <Subject flow={flow} /> <State of={words.states[state]} />
      </h2>
      {escalatedAt !== null && <p class="notice">{words.escalated}</p>}
      <dl class="facts">
        <dt>{words.columns.kind}</dt>
        <dd>{words.kinds[kind]}</dd>
        {kind !== 'programme' && (
          <>
            <dt>{words.columns.tier}</dt>
            <dd>
              <bdi>{slaVariant ?? words.defaultTier}</bdi>
            </dd>
          </>
        )}
        <dt>{words.columns.requester}</dt>
        <dd>
          <Id value={requester} /> <Time at={createdAt} />
        </dd>
        <dt>{words.columns.reason}</dt>
        <dd>{reason === null ? <span class="quiet">{words.noReason}</span> : <bdi>{reason}</bdi>}</dd>
        <dt>{words.columns.decisions}</dt>
        <dd>
          <Comments of={approvals} />
        </dd>
      </dl>
      {isOpen && requester === person.value?.id && <p class="quiet">{words.ownRequest}</p>}
      {isOpen && requester !== person.value?.id && scopes.value.has('approvals:write') && (
        <Decision flow={flow} onDecided={onDecided} />
      )}
    </article>
  )
}

/** The consumer at the API, or the programme. */
function Subject({ flow: { kind, subscription, programme } }: { readonly flow: Flow }) {
  const isKnown = subscription !== null && may('subscriptions:read')
  const { data } = useRead(isKnown ? '/v1/subscriptions/:id' : null, { params: { id: subscription ?? '' } })
  const to = subscription === null ? `programmes/${programme ?? ''}` : `subscriptions/${subscription}`
  return (
    <a href={BASE + to} data-row>
      <bdi>{data === null ? words.kinds[kind] : titleOf(data)}</bdi>
    </a>
  )
}

function Decision({ flow, onDecided }: RequestProps) {
  const [comments, setComments] = useState('')
  // The button is known before the form is submitted.
  const outcome = useRef<Outcome>('Approved')
  const { problem, isWaiting, run } = useAction(async () => {
    const text = comments.trim()
    await send(flow, { outcome: outcome.current, ...(text !== '' && { comments: text }) })
    onDecided(outcome.current)
  })
  const choose = (chosen: Outcome) => () => {
    outcome.current = chosen
  }
  return (
    <form
      class="form"
      onSubmit={(event) => {
        event.preventDefault()
        void run()
      }}
    >
      <label class="field">
        {words.comments}
        <textarea
          rows={2}
          value={comments}
          maxLength={20_000}
          aria-label={words.commentsOf(flow.id)}
          onInput={({ currentTarget }) => setComments(currentTarget.value)}
        />
      </label>
      {problem !== null && <Refusal problem={problem} />}
      <p class="toolbar">
        <button type="submit" class="main" disabled={isWaiting} onClick={choose('Approved')}>
          {words.approve}
        </button>
        <button type="submit" disabled={isWaiting} onClick={choose('AmendmentRequired')}>
          {words.amend}
        </button>
        <button type="submit" class="danger-quiet" disabled={isWaiting} onClick={choose('Rejected')}>
          {words.reject}
        </button>
      </p>
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
