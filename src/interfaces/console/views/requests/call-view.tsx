/** One call: every stage that it passed, the one that refused it and on which ground, and what to change. */

import type { Answer } from '../../api/operations.ts'
import { useRead } from '../../api/use-read.ts'
import { Outcome } from '../../parts/codes.tsx'
import { Page } from '../../parts/page.tsx'
import { Empty, Loaded } from '../../parts/states.tsx'
import { Id, Time, toNumber } from '../../parts/values.tsx'
import { BASE } from '../../router.ts'
import { may, scopes } from '../../shell/person.ts'
import { texts } from '../../texts.ts'
import { ExplainForm } from './explain-form.tsx'

type Call = Answer<'/v1/requests/:id'>

const words = texts.requests
const { fields } = words
const NOT_FOUND = 404

export function CallView({ id }: { readonly id: string }) {
  const reading = useRead('/v1/requests/:id', { params: { id } })
  const { problem } = reading
  return (
    <Page title={words.title}>
      <ExplainForm />
      {problem?.status === NOT_FOUND ? (
        <Empty text={problem.detail} commands={[`tollgate requests get ${id}`]} />
      ) : (
        <Loaded reading={reading}>{(call) => <Explained call={call} />}</Loaded>
      )}
    </Page>
  )
}

function Explained({ call }: { readonly call: Call }) {
  return (
    <>
      <h2>{words.stagesTitle}</h2>
      <ol class="stages">
        {call.stages.map(({ stage, result }) => (
          <li key={stage} data-result={result}>
            {words.stages[stage]}: {words.results[result]}
          </li>
        ))}
      </ol>
      <dl class="facts">
        <dt>{fields.reason}</dt>
        <dd>
          <bdi>{call.detail}</bdi>
        </dd>
        {call.errors.map(({ pointer, detail }) => (
          <dd key={pointer}>
            <bdi>
              <code>{pointer}</code> {detail}
            </bdi>
          </dd>
        ))}
        <dt>{fields.advice}</dt>
        <dd>{adviceOn(call.outcome)}</dd>
        {call.limit !== null && (
          <>
            <dt>{fields.limit}</dt>
            <dd>
              <LimitState of={call.limit} />
            </dd>
          </>
        )}
        <Facts call={call} />
      </dl>
    </>
  )
}

function adviceOn(outcome: string): string {
  const advice: Readonly<Record<string, string>> = words.advice
  return Object.hasOwn(advice, outcome) ? (advice[outcome] ?? '') : words.noAdvice
}

function LimitState({ of }: { readonly of: NonNullable<Call['limit']> }) {
  const { name, used, limit, window, opensAt } = of
  const { limit: phrases } = words
  const when = window === null ? phrases.atATime : phrases.per(window)
  return (
    <>
      <bdi>{name}</bdi>: {phrases.used(used === null ? phrases.unknown : toNumber(used), toNumber(limit), when)}.{' '}
      {opensAt !== null && (
        <>
          {phrases.opens} <Time at={opensAt} />.
        </>
      )}
    </>
  )
}

function Facts({ call }: { readonly call: Call }) {
  const { requestId, time, outcome, status, api, operation, customer, customerName, subscription, onBehalfOf } = call
  return (
    <>
      <dt>{fields.outcome}</dt>
      <dd>
        <Outcome of={outcome} status={status} />
      </dd>
      <dt>{fields.api}</dt>
      <dd>
        <bdi>
          {api} {operation}
        </bdi>
      </dd>
      <dt>{fields.consumer}</dt>
      <dd>
        {customer !== '' && scopes.value.has('consumers:read') ? (
          <a href={`${BASE}consumers/${encodeURIComponent(customer)}`}>
            <bdi>{customerName || customer}</bdi>
          </a>
        ) : (
          <bdi>{customer === '' ? words.anonymous : customerName}</bdi>
        )}
      </dd>
      {subscription !== '' && may('subscriptions:read') && (
        <>
          <dt>{fields.subscription}</dt>
          <dd>
            <a href={`${BASE}subscriptions/${encodeURIComponent(subscription)}`}>{subscription}</a>
          </dd>
        </>
      )}
      {onBehalfOf !== '' && (
        <>
          <dt>{fields.onBehalfOf}</dt>
          <dd>
            <Id value={onBehalfOf} />
          </dd>
        </>
      )}
      <dt>{fields.time}</dt>
      <dd>
        <Time at={time} />
      </dd>
      <dt>{fields.duration}</dt>
      <dd>{words.ms(toNumber(call.durationMs))}</dd>
      <dt>{fields.id}</dt>
      <dd>
        <Id value={requestId} />
      </dd>
    </>
  )
}
