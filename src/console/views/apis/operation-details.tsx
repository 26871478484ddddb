/** One operation: its parameters, its body, and its responses, with schemas and examples. */

import { State } from '../../parts/values.tsx'
import { texts } from '../../texts.ts'
import type { ApiBody, ApiContent, ApiDocument, ApiOperation, ApiParameter } from './document.ts'
import { Method, operationUrl } from './operation-list.tsx'
import { exampleOf } from './schema-example.ts'
import { SchemaView, toShown } from './schema-view.tsx'

const words = texts.apis.documentation
const EXAMPLE_LENGTH_MAX = 20_000

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
    </article>
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

export function toText(example: unknown): string {
  const text = typeof example === 'string' ? example : JSON.stringify(example, null, 2)
  return text.length > EXAMPLE_LENGTH_MAX ? `${text.slice(0, EXAMPLE_LENGTH_MAX)}…` : text
}
