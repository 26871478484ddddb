/** Explains one call by its id: which stage refused it, on which ground, and the state of the limit at that time. */

import { useState } from 'preact/hooks'
import type { Answer } from '../../api/operations.ts'
import { useRead } from '../../api/use-read.ts'
import { Empty, Loaded } from '../../parts/states.tsx'
import { Time } from '../../parts/values.tsx'
import { go, path } from '../../router.ts'
import { Page } from '../../parts/page.tsx'
import { texts } from '../../texts.ts'

const { title, label, hint, button, none, fields } = texts.requests

export function Requests() {
  const asked = decodeURIComponent(path.value.split('/')[1] ?? '')
  const [typed, setTyped] = useState(asked)
  const explain = (event: Event): void => {
    event.preventDefault()
    if (typed.trim() !== '') go(`requests/${encodeURIComponent(typed.trim())}`)
  }
  return (
    <Page title={title}>
      <form class="filters" onSubmit={explain}>
        <label>
          {label}
          <input
            value={typed}
            maxLength={128}
            spellcheck={false}
            aria-describedby="request-hint"
            onInput={({ currentTarget }) => setTyped(currentTarget.value)}
          />
        </label>
        <button type="submit" class="main">
          {button}
        </button>
        <span id="request-hint" class="quiet">
          {hint}
        </span>
      </form>
      {asked === '' ? <Empty text={none} /> : <Explained id={asked} />}
    </Page>
  )
}

function Explained({ id }: { readonly id: string }) {
  const reading = useRead('/v1/requests/:id', { params: { id } })
  return <Loaded reading={reading}>{(call) => <Facts call={call} />}</Loaded>
}

function Facts({ call }: { readonly call: Answer<'/v1/requests/:id'> }) {
  const { outcome, stage, detail, errors, limit, api, operation, status, time } = call
  return (
    <dl class="facts">
      <dt>{fields.reason}</dt>
      <dd>{detail}</dd>
      {errors.map(({ pointer, detail: why }) => (
        <dd key={pointer}>
          <code>{pointer}</code> {why}
        </dd>
      ))}
      {limit !== null && (
        <dd>
          {limit.name}: {limit.used ?? '?'} / {limit.limit}
        </dd>
      )}
      <dt>{fields.outcome}</dt>
      <dd>
        {outcome} ({status})
      </dd>
      <dt>{fields.stage}</dt>
      <dd>{stage ?? '–'}</dd>
      <dt>{fields.api}</dt>
      <dd>
        {api} {operation}
      </dd>
      <dt>{fields.time}</dt>
      <dd>
        <Time at={time} />
      </dd>
    </dl>
  )
}
