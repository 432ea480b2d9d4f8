"""Commands that talk to Kafka: `cep tail`, `cep produce`, `cep broker`."""
