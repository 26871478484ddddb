/** The operations of an API from its OpenAPI document, as text. */

import { useRead } from '../../api/use-read.ts'
import { Loaded } from '../../parts/states.tsx'
import { Table } from '../../parts/table.tsx'
import { texts } from '../../texts.ts'
import { operationsOf, type DocumentedOperation } from './operations-of.ts'

const words = texts.portal.apis

export function Documentation({ api }: { readonly api: string }) {
  const reading = useRead('/v1/apis/:name/document', { params: { name: api } })
  return (
    <section>
      <h2>{words.operations}</h2>
      {reading.problem?.status === 404 ? (
        <p class="quiet">{words.noOperations}</p>
      ) : (
        <Loaded reading={reading}>
          {(document) => operationsOf(document).map((each) => <Operation key={each.key} operation={each} />)}
        </Loaded>
      )}
    </section>
  )
}

function Operation({ operation: { method, path, summary, description, parameters, responses } }: OperationProps) {
  const { parameterColumns: columns } = words
  return (
    <details class="operation">
      <summary>
        <code>
          <bdi>
            {method} {path}
          </bdi>
        </code>{' '}
        <bdi>{summary}</bdi>
      </summary>
      {description !== '' && (
        <p class="description">
          <bdi>{description}</bdi>
        </p>
      )}
      {parameters.length > 0 && (
        <Table
          caption={`${words.parameters} ${method} ${path}`}
          keyOf={({ name, place }) => `${place} ${name}`}
          rows={parameters}
          columns={[
            { title: columns.name, cell: ({ name }) => <bdi>{name}</bdi> },
            { title: columns.place, cell: ({ place }) => <bdi>{place}</bdi> },
            { title: columns.required, cell: ({ isRequired }) => (isRequired ? words.yes : words.no) },
            { title: columns.description, cell: (each) => <bdi>{each.description}</bdi> },
          ]}
        />
      )}
      {responses.length > 0 && (
        <dl class="facts">
          <dt>{words.responses}</dt>
          {responses.map(([status, text]) => (
            <dd key={status}>
              <code>{status}</code> <bdi>{text}</bdi>
            </dd>
          ))}
        </dl>
      )}
    </details>
  )
}

interface OperationProps {
  readonly operation: DocumentedOperation
}
