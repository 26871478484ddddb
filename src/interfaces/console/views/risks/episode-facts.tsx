/** The facts of an episode: the message, the party, and the evidence. */

import { Id, Time, toNumber } from '../../parts/values.tsx'
import { BASE } from '../../router.ts'
import { may, scopes } from '../../shell/person.ts'
import { texts } from '../../texts.ts'
import { Message } from './message.tsx'
import { consumerOf } from '../../../../foundation/domain/risk.ts'
import type { Party, Timeline } from './party.ts'

const words = texts.risks

export function Facts({ risk }: { readonly risk: Timeline }) {
  const { api, message, evidence, mute, attributedTo, count, windowSeconds, firstSeen, lastSeen } = risk
  return (
    <dl class="facts">
      <dt>{words.message}</dt>
      <dd>
        <Message text={message} party={attributedTo} />
      </dd>
      {mute !== null && (
        <>
          <dt>{words.muting.mutedUntil}</dt>
          <dd>
            <Time at={mute.until} />: <bdi class="prose">{mute.reason}</bdi>
          </dd>
        </>
      )}
      <dt>{words.columns.who}</dt>
      <dd>
        <Who party={attributedTo} />
      </dd>
      <dt>{words.columns.api}</dt>
      <dd>
        <a href={`${BASE}apis/${encodeURIComponent(api)}`}>
          <code>{api}</code>
        </a>
      </dd>
      <dt>{words.window}</dt>
      <dd>{words.inWindow(toNumber(count), windowSeconds, toNumber(evidence.total))}</dd>
      <dt>{words.opened}</dt>
      <dd>
        <Time at={firstSeen} />
      </dd>
      <dt>{words.seen}</dt>
      <dd>
        <Time at={lastSeen} />
      </dd>
      <Counts title={words.reasons} counts={evidence.reasons} />
      <Counts title={words.operations} counts={evidence.operations} />
      <Counts title={words.statuses} counts={evidence.statuses} />
      <dt>{words.requests}</dt>
      <dd>
        <ul class="counts">
          {evidence.requestIds.map((id) => (
            <li key={id}>
              <Id value={id} />{' '}
              {may('requests:read') && (
                <a href={`${BASE}requests/${encodeURIComponent(id)}`} aria-label={`${words.explain} ${id}`}>
                  {words.explain}
                </a>
              )}
            </li>
          ))}
        </ul>
      </dd>
    </dl>
  )
}

function Who({ party }: { readonly party: Party }) {
  const { kind, id, name, onBehalfOf } = party
  const consumer = consumerOf(party)
  const isConsumer = consumer === id
  return (
    <>
      <span class="quiet">{words.kinds[kind]}</span> {isConsumer ? <Consumer id={id} name={name} /> : <bdi>{name}</bdi>}
      {consumer !== '' && !isConsumer && (
        <>
          {' '}
          {words.through} <Consumer id={consumer} name={consumer} />
        </>
      )}
      {onBehalfOf !== undefined && (
        <>
          {' '}
          <span class="quiet">{words.onBehalfOf(onBehalfOf)}</span>
        </>
      )}
    </>
  )
}

function Consumer({ id, name }: { readonly id: string; readonly name: string }) {
  if (!scopes.value.has('consumers:read')) return <bdi>{name === '' ? id : name}</bdi>
  return (
    <a href={`${BASE}consumers/${encodeURIComponent(id)}`}>
      <bdi>{name === '' ? id : name}</bdi>
    </a>
  )
}

interface CountsProps {
  readonly title: string
  readonly counts: Readonly<Record<string, number>>
}

function Counts({ title, counts }: CountsProps) {
  const entries = Object.entries(counts)
  if (entries.length === 0) return null
  return (
    <>
      <dt>{title}</dt>
      <dd>
        <ul class="counts">
          {entries.map(([name, count]) => (
            <li key={name}>
              <bdi>{name === '' ? words.noOperation : name}</bdi>: {toNumber(count)}
            </li>
          ))}
        </ul>
      </dd>
    </>
  )
}
