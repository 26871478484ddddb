/** Explains a token or the start of an API key. The id of a request has an address of its own. */

import { useEffect, useState } from 'preact/hooks'
import { change } from '../../api/client.ts'
import type { Changes } from '../../api/operations.ts'
import { Refusal, useAction } from '../../parts/dialog.tsx'
import { Page } from '../../parts/page.tsx'
import { Empty } from '../../parts/states.tsx'
import { Table } from '../../parts/table.tsx'
import { query } from '../../router.ts'
import { texts } from '../../texts.ts'
import { askedToken, ExplainForm } from './explain-form.tsx'
import { ExplainedKeys, ExplainedToken } from './explained-credential.tsx'
import { CALL_COLUMNS } from './request-table.tsx'

type Explanation = Changes<'POST /v1/requests/explain'>

const words = texts.requests

export function ExplainView() {
  const start = query.value.get('key') ?? ''
  const token = askedToken.value
  const [found, setFound] = useState<Explanation | null>(null)
  const { problem, run } = useAction(async () => {
    if (token === null && start === '') return setFound(null)
    const body =
      token === null ? { keyPrefix: start } : { token: token.token, ...(token.api !== '' && { api: token.api }) }
    setFound(null)
    setFound(await change('POST /v1/requests/explain', {}, body))
  })
  useEffect(() => void run(), [token, start])
  useEffect(
    () => () => {
      askedToken.value = null
    },
    [],
  )
  return (
    <Page title={words.title}>
      <ExplainForm />
      {problem !== null && <Refusal problem={problem} />}
      <div aria-live="polite">
        {found !== null ? (
          <Found explanation={found} start={start} />
        ) : (
          problem === null && <Empty text={words.none} commands={['tollgate requests get REQUEST']} />
        )}
      </div>
    </Page>
  )
}

interface FoundProps {
  readonly explanation: Explanation
  readonly start: string
}

function Found({ explanation: { token, keys, refused }, start }: FoundProps) {
  return (
    <>
      {token === null ? <ExplainedKeys keys={keys} start={start} /> : <ExplainedToken of={token} />}
      {refused.length > 0 && (
        <>
          <h2>{words.refusedCalls}</h2>
          <Table
            caption={words.refusedCalls}
            columns={CALL_COLUMNS}
            rows={refused}
            keyOf={({ requestId }) => requestId}
          />
        </>
      )}
    </>
  )
}
