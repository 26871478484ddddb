/** One operation: its parameters, its body, and its responses, with schemas and examples. */

import { useRead } from '../../api/use-read.ts'
import { State } from '../../parts/values.tsx'
import { texts } from '../../texts.ts'
import type { ApiBody, ApiContent, ApiDocument, ApiOperation, ApiParameter } from './document.ts'
import { Method, operationUrl } from './operation-list.tsx'
import { exampleOf, toText } from './schema-example.ts'
import { SchemaView, toShown } from './schema-view.tsx'
import { toCurl, toTryCall } from './try-call.ts'
import { initialValues } from './try-values.ts'

const words = texts.apis.documentation

interface Resolving {
  readonly resolve: ApiDocument['resolve']
}

interface OperationDetailsProps extends Resolving {
  readonly api: string
  readonly operation: ApiOperation
}

export function OperationDetails({ api, operation, resolve }: OperationDetailsProps) {
  const { key, method, path, summary, description, isDeprecated, parameters, body, responses } = operation
  return (
    <article>
      <div class="page-head">
        <h2>
          <bdi>{summary === '' ? key : summary}</bdi> {isDeprecated && <State of={words.deprecated} />}
        </h2>
        <a class="button" href={operationUrl(api, 'try', key)}>
          {words.tryIt}
        </a>
      </div>
      <p>
        <Method of={method} /> <code>{path}</code>
      </p>
      {description !== '' && (
        <p class="prose">
          <bdi>{description}</bdi>
        </p>
      )}
      {parameters.length > 0 && <Parameters parameters={parameters} resolve={resolve} />}
      {body !== null && <Body body={body} resolve={resolve} />}
      <h3>{words.responses}</h3>
      {responses.length === 0 && <p class="quiet">{words.noResponses}</p>}
      {responses.map(({ status, description: meaning, contents }) => (
        <section key={status} class="part">
          <h4>
            <code>{status}</code> <bdi>{meaning}</bdi>
          </h4>
          <Contents contents={contents} resolve={resolve} />
        </section>
      ))}
      <Curl api={api} operation={operation} resolve={resolve} />
    </article>
  )
}

function Curl({ api, operation, resolve }: OperationDetailsProps) {
  const { data } = useRead('/.well-known/tollgate')
  if (data === null) return null
  const call = toTryCall(api, operation, initialValues(operation, resolve))
  return (
    <>
      <h3>{words.curl}</h3>
      <pre tabIndex={0} aria-label={words.curl}>
        {toCurl(call, data.gatewayUrl, 'x-api-key: KEY')}
      </pre>
    </>
  )
}

function Parameters({ parameters, resolve }: Resolving & { readonly parameters: readonly ApiParameter[] }) {
  return (
    <>
      <h3>{words.parameters}</h3>
      <ul class="members">
        {parameters.map(({ name, place, isRequired, description, schema, example }) => (
          <li key={`${place} ${name}`}>
            <code>{name}</code> <span class="quiet">{words.places[place as keyof typeof words.places] ?? ''}</span>{' '}
            {isRequired && <State of={words.required} />} <bdi>{description}</bdi>
            <SchemaView schema={schema} resolve={resolve} />
            {example !== undefined && (
              <p class="quiet">
                {words.example}: <code>{toShown(example)}</code>
              </p>
            )}
          </li>
        ))}
      </ul>
    </>
  )
}

function Body({ body: { isRequired, description, contents }, resolve }: Resolving & { readonly body: ApiBody }) {
  return (
    <>
      <h3>
        {words.body} {isRequired && <State of={words.required} />}
      </h3>
      {description !== '' && (
        <p class="prose">
          <bdi>{description}</bdi>
        </p>
      )}
      <Contents contents={contents} resolve={resolve} />
    </>
  )
}

function Contents({ contents, resolve }: Resolving & { readonly contents: readonly ApiContent[] }) {
  return (
    <>
      {contents.map(({ mediaType, schema, example }) => (
        <div key={mediaType} class="part">
          <p class="quiet">
            <bdi>{mediaType}</bdi>
          </p>
          <SchemaView schema={schema} resolve={resolve} />
          <details>
            <summary>{words.example}</summary>
            <pre tabIndex={0}>{toText(example ?? exampleOf(schema, resolve))}</pre>
          </details>
        </div>
      ))}
    </>
  )
}
