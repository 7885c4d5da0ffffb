"""The PostgreSQL store: an index that many servers share, with words in posting blocks and meaning in pgvector.

store       the store itself, behind the same protocol as the embedded one
questions   what a search reads          changes     what an ingest writes
postings    the words                    schema      the tables, and how they come to be
replicas    which server is read         pool        connections, and an end to every wait
faults      what a failure means
"""
